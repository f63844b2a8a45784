// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "tree.hpp"

#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace gpucontainer::simhost {

/// A file or directory of the machine that the world shows, too, at its own path.
struct Shown {
    std::string path; ///< Without links.
    bool writable = false;
    bool has_nodes = false; ///< Device nodes in it can be opened.
};

/// What a command on a stranger's host sees of this machine: its programs, libraries and
/// configuration, read-only; a /proc of its own process namespace, /dev with what every program
/// expects, /sys; and what its caller shows. The other directories are made for it.
class World {
public:
    /// Files that are made for it belong to `first_id`, its root; 0: to whoever makes them.
    explicit World(uid_t first_id) : first_id_(first_id) {}

    /// Makes it the root directory of this process, in a mount namespace of its own. `shown` is
    /// opened meanwhile.
    Result<void> enter(const std::vector<Shown>& shown);

    /// Mounts what is shown, and makes the directories that every machine has.
    Result<void> complete();

    /// Mounts one of them at another place, which is there.
    Result<void> mount_at(const std::string& path, const std::string& target) const;

private:
    struct Copy {
        Shown shown;
        base::UniqueFd mount;
        bool is_directory = false;
    };

    Result<void> copy_machine();
    Result<void> make_root(const std::string& place);
    Result<void> make_nodes(Tree& tree) const;
    Result<void> make_proc(const std::string& place) const;

    uid_t first_id_;
    std::vector<Copy> machine_; ///< Directories of the machine, and its /sys and nodes.
    std::vector<std::pair<std::string, std::string>> links_; ///< Of its root directory.
    std::vector<Copy> shown_;
};

/// Where a path lies in a world.
enum class Place {
    world,   ///< The world has it without being told: /usr and the like.
    kernel,  ///< /, /proc, /sys and /dev, which are made for it.
    outside, ///< It is there if it is shown.
};
Place place_of(const std::string& path);

} // namespace gpucontainer::simhost

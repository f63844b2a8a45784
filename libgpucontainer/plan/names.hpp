// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Decides how each new name is made in a container.
class Names {
public:
    enum class Way : std::uint8_t {
        write,     ///< In the directory itself.
        overlay,   ///< In an overlay, which is mounted over an existing directory; on a container's
                   ///< own tmpfs in the directory itself.
        automatic, ///< In the directory itself if that is made for names and no link leads from
                   ///< the root's mount to it, else in an overlay.
        layer,     ///< In the directory itself on the root's mount, and on a container's own tmpfs,
                   ///< else in an overlay.
    };

    Names(const rootfs::View& view, Way way) : view_(view), way_(way) {}

    /// Adds the overlays for all names that will be added. Call it before the first add(), because
    /// later mounts must be made on the overlays. An overlay serves all directories below its own
    /// on the same mount. Errors: rootfs, if an overlay would have to be over the root itself.
    Result<void> expect(const std::vector<std::string>& targets, std::vector<Item>& items);

    /// Whether a name is, or would be, in an overlay.
    bool are_overlaid(const std::string& target) const;

    /// Adds an item with a missing target, after what it needs.
    void add(Item item, std::vector<Item>& items);

private:
    /// The nearest existing directory, and how names in it are made.
    struct Start {
        std::string directory;
        Place place;
    };
    /// The same path below /usr, in an image whose /lib, for example, is a link to /usr/lib: of two
    /// overlays, over /lib and over /usr, one would hide the other.
    std::string below_usr(const std::string& path) const;
    Start start_of(const std::string& target) const;
    bool needs_overlay(const std::string& directory) const;
    /// Whether a link leads to another mount, such as a volume.
    bool is_led_elsewhere(const std::string& directory) const;
    bool is_on_roots_mount(const std::string& directory) const;
    /// Whether it is on a tmpfs that runtimes mount at /dev and /run.
    bool is_on_own_tmpfs(const std::string& directory) const;
    Item overlay_over(const std::string& directory) const;
    /// The overlay that serves a directory; null if there is none.
    const std::string* overlay_of(const std::string& directory) const;
    bool is_link_between(const std::string& above, std::string_view directory) const;
    model::FileId directory_of_new(std::string_view path, const Start& start) const;
    void add_directories(const Start& start, const std::string& to, std::vector<Item>& items);

    const rootfs::View& view_;
    Way way_;
    std::vector<std::string> overlays_; ///< Outer ones before inner ones.
    std::vector<std::string> directories_;
};

} // namespace gpucontainer::plan

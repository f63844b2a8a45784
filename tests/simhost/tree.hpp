// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace gpucontainer::simhost {

/// Writes files into a directory that nobody else writes to. Paths are taken
/// relative to it, with or without a leading '/'; directories above them appear
/// by themselves. What is there already is replaced, unless it is a directory.
/// A path with ".." or with a link on it is an error: nothing lies outside.
class Tree {
public:
    /// All that is made belongs to the user and group `owner`; 0: to who makes it.
    explicit Tree(base::UniqueFd directory, uid_t owner = 0)
        : directory_(std::move(directory)), owner_(owner)
    {
    }

    Result<void> directory(std::string_view path);

    /// A file of that content, made longer with a hole when `size` is larger.
    Result<void> file(std::string_view path, std::string_view content, mode_t mode = 0644,
                      std::uint64_t size = 0);
    Result<void> link(std::string_view path, const std::string& target);

    /// `device` as of makedev(); `mode` with the type.
    Result<void> node(std::string_view path, mode_t mode, dev_t device);

    /// Hides a name of the layers below in an overlay.
    Result<void> whiteout(std::string_view path);

    bool has(std::string_view path) const;
    bool has_directory(std::string_view path) const;
    int fd() const { return directory_.get(); }

private:
    /// Creates what stands at `path` by `create`, which gets its directory and its name there, and
    /// returns false and sets errno like a system call.
    template <typename Create>
    Result<void> put(std::string_view what, const std::string& path, Create&& create);

    /// Opens the directory of a path, for as long as the next one is not asked for.
    Result<int> open_directory(const std::string& path);

    Result<void> give_away(int parent, const char* name) const;

    base::UniqueFd directory_;
    uid_t owner_;
    std::string opened_path_; ///< Below it, of what `opened_` is.
    base::UniqueFd opened_;
    std::set<std::string, std::less<>> made_;
};

} // namespace gpucontainer::simhost

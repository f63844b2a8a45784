// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Finds the way in which each new name comes to be in a container.
class Names {
public:
    enum class Way : std::uint8_t {
        write,     ///< In the directory itself.
        overlay,   ///< In overlays, which are mounted over directories that are there.
        automatic, ///< In the directory itself where that is for names, in an overlay elsewhere.
    };

    Names(const rootfs::View& view, Way way) : view_(view), way_(way) {}

    /// Tells all names that will be added, before the first is, and adds the
    /// overlays for them: one serves all directories below its own on the same
    /// mount, and what is mounted later has to be mounted on it. Errors: rootfs,
    /// where the only directory to lay one over is the root itself.
    Result<void> expect(const std::vector<std::string>& targets, std::vector<Item>& items);

    /// Whether an overlay has, or would have, a name.
    bool are_overlaid(const std::string& target) const;

    /// Adds `item`, whose target is not there, and what it needs before it.
    void add(Item item, std::vector<Item>& items);

private:
    /// Nearest directory that is there, and the way to names in it.
    struct Start {
        std::string directory;
        Place place;
    };
    Start start_of(const std::string& target) const;
    bool needs_overlay(const std::string& directory) const;
    Item overlay_over(const std::string& directory) const;
    /// The overlay that serves a directory; null when there is none.
    const std::string* overlay_of(const std::string& directory) const;
    bool is_link_between(const std::string& above, std::string_view directory) const;
    void add_directories(const Start& start, const std::string& to, std::vector<Item>& items);

    const rootfs::View& view_;
    Way way_;
    std::vector<std::string> overlays_; ///< Outer ones before inner ones.
    std::vector<std::string> directories_;
};

} // namespace gpucontainer::plan

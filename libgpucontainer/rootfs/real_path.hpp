// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "base/text.hpp"
#include "rootfs/view.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::rootfs {

inline constexpr int most_links_followed = 40;    // as the kernel
inline constexpr std::size_t longest_path = 4095; // PATH_MAX without its NUL
/// Names in a path and all links on it. The kernel follows more; links that lead to and fro a
/// thousand times take long.
inline constexpr std::size_t most_components = 256;

enum class LastLink : bool { kept, followed };

/// What looking names up may cost in all: a hostile tree has deep directories and links to them,
/// and makes each of many paths a long way. A look at a name costs as much as its path is long.
class LookBudget {
public:
    explicit LookBudget(std::size_t most) : left_(most) {}

    /// Whether a name may be looked up. Once it may not, none may.
    bool spend(std::string_view path)
    {
        const std::size_t cost = path.size() + least_cost;
        is_exhausted_ = is_exhausted_ || cost > left_;
        left_ -= is_exhausted_ ? 0 : cost;
        return !is_exhausted_;
    }
    bool is_exhausted() const noexcept { return is_exhausted_; }

private:
    static constexpr std::size_t least_cost = 32; // what any name takes

    std::size_t left_;
    bool is_exhausted_ = false;
};

/// How far a path was followed.
struct WayGone {
    std::size_t components = 0;
    int links = 0;
};

/// A path on which links are followed, component by component.
class PathWalk {
public:
    PathWalk() = default;
    /// Goes on in a directory without links, "/" or "/usr/lib", to which that way led.
    PathWalk(const std::string& directory, const WayGone& gone)
        : at_(directory == "/" ? "" : directory), gone_(gone)
    {
    }

    /// Puts a path before what is left; false if it is too long.
    bool push(std::string_view text);
    /// Goes to the next name; false if there is none, or it is too long.
    bool next();
    /// The path of that name, whose directories are no links.
    const std::string& name() const noexcept { return name_; }
    /// Whether nothing is left behind it.
    bool is_last() const noexcept { return pending_.empty(); }
    /// Goes on at the target of a link; false if it is too long, or one link too many.
    bool follow(const std::string& target);
    /// Goes on below that name.
    void enter() { at_ = name_; }

    bool is_at_end() const noexcept { return pending_.empty() && !is_too_long_; }
    std::string reached() const { return at_.empty() ? "/" : at_; }
    const WayGone& gone() const noexcept { return gone_; }

private:
    std::vector<std::string> pending_; ///< The next component is the last.
    std::string at_;                   ///< "": the root.
    std::string name_;
    WayGone gone_;
    bool is_too_long_ = false;
};

inline bool PathWalk::push(std::string_view text)
{
    if (text.size() > longest_path)
        return false;
    const std::vector<std::string_view> parts = base::split(text, '/');
    gone_.components += parts.size();
    pending_.insert(pending_.end(), parts.rbegin(), parts.rend());
    return gone_.components <= most_components;
}

inline bool PathWalk::next()
{
    while (!pending_.empty()) {
        const std::string name = std::move(pending_.back());
        pending_.pop_back();
        if (name.empty() || name == ".")
            continue;
        if (name == "..") {
            const auto slash = at_.find_last_of('/');
            at_.resize(slash == std::string::npos ? 0 : slash);
            continue;
        }
        name_ = base::format("{}/{}", at_, name);
        is_too_long_ = name_.size() > longest_path;
        return !is_too_long_;
    }
    return false;
}

inline bool PathWalk::follow(const std::string& target)
{
    if (++gone_.links > most_links_followed || target.empty())
        return false;
    if (target.starts_with('/'))
        at_.clear();
    return push(target);
}

/// Goes along a path from where a walk is. Returns what it leads to, as the next function does.
template <typename TypeOf, typename TargetOf>
std::optional<std::string> follow_links(PathWalk& walk, std::string_view path, LastLink last,
                                        const TypeOf& type_of, const TargetOf& target_of)
{
    bool goes_on = walk.push(path);
    while (goes_on && walk.next()) {
        const EntryType type = type_of(walk.name());
        const bool is_last = walk.is_last();
        if (type == EntryType::link && (!is_last || last == LastLink::followed))
            goes_on = walk.follow(target_of(walk.name()));
        else if (type == EntryType::none || (!is_last && type != EntryType::directory))
            goes_on = false;
        else
            walk.enter();
    }
    return goes_on && walk.is_at_end() ? std::optional(walk.reached()) : std::nullopt;
}

/// The path without links to what `path` leads to; none if it leads nowhere. `type_of` and
/// `target_of` are asked about paths whose directories are no links: what a name is, and where a
/// link leads.
template <typename TypeOf, typename TargetOf>
std::optional<std::string> follow_links(std::string_view path, LastLink last, const TypeOf& type_of,
                                        const TargetOf& target_of)
{
    PathWalk walk;
    return follow_links(walk, path, last, type_of, target_of);
}

/// The path without links to what `path` leads to in a view; none if it leads nowhere.
std::optional<std::string> real_path(const View& view, std::string_view path,
                                     LastLink last = LastLink::followed);

} // namespace gpucontainer::rootfs

// SPDX-License-Identifier: MIT
#include "mount/links.hpp"

#include <algorithm>

namespace gpucontainer::mount {

std::span<Links::Link> Links::links() const noexcept
{
    return {static_cast<Link*>(link_memory_.data()), link_count_};
}

std::span<const std::uint64_t> Links::below() const noexcept
{
    return {static_cast<const std::uint64_t*>(below_memory_.data()), below_count_};
}

bool Links::add(std::uint64_t parent, std::uint64_t id) noexcept
{
    if ((link_count_ + 1) * sizeof(Link) > link_memory_.size() && !link_memory_.grow())
        return false;
    ++link_count_;
    links().back() = {parent, id};
    return true;
}

bool Links::note(std::uint64_t id) noexcept
{
    if ((below_count_ + 1) * sizeof(id) > below_memory_.size() && !below_memory_.grow())
        return false;
    static_cast<std::uint64_t*>(below_memory_.data())[below_count_++] = id;
    return true;
}

bool Links::find_below(std::uint64_t id) noexcept
{
    const auto all = links();
    std::sort(all.begin(), all.end(), [](const Link& left, const Link& right) {
        return left.parent < right.parent || (left.parent == right.parent && left.id < right.id);
    });
    below_count_ = 0;
    std::uint64_t on = id;
    for (std::size_t next = 0;; on = below()[next++]) {
        const auto [first, last] = std::equal_range(
            all.begin(), all.end(), Link{on, 0},
            [](const Link& left, const Link& right) { return left.parent < right.parent; });
        // Each mount has one parent, so there are no more than lines. The limit also holds for a
        // table that is not the kernel's.
        for (auto link = first; link != last && below_count_ < all.size(); ++link)
            if (link->id != id && !note(link->id))
                return false;
        if (next == below_count_)
            break;
    }
    auto* const found = static_cast<std::uint64_t*>(below_memory_.data());
    std::sort(found, found + below_count_);
    below_count_ = static_cast<std::size_t>(std::unique(found, found + below_count_) - found);
    return true;
}

} // namespace gpucontainer::mount

// SPDX-License-Identifier: MIT
#include "syscall/id_map.hpp"

#include "syscall/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

/// "INSIDE OUTSIDE COUNT", with spaces before each.
std::optional<IdRange> parse(std::string_view line) noexcept
{
    IdRange range = {};
    for (std::uint32_t* const number : {&range.inside, &range.outside, &range.count}) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        const char* const end = line.data() + line.size();
        const auto [rest, error] = std::from_chars(line.data(), end, *number);
        if (error != std::errc())
            return std::nullopt;
        line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    }
    return line.empty() ? std::optional(range) : std::nullopt;
}

} // namespace

std::optional<IdRange> find_range(std::string_view map, std::uint32_t inside) noexcept
{
    while (!map.empty()) {
        const std::string_view line = map.substr(0, map.find('\n'));
        const auto range = parse(line);
        if (range && inside >= range->inside && inside - range->inside < range->count)
            return range;
        map.remove_prefix(std::min(line.size() + 1, map.size()));
    }
    return std::nullopt;
}

bool is_initial_map(std::string_view map) noexcept
{
    const auto range = find_range(map, 0);
    return range && range->outside == 0 && range->count == UINT32_MAX;
}

std::optional<bool> is_in_initial_user_namespace() noexcept
{
    std::array<char, 64> map; // the initial namespace's map is a line of 33 characters
    const UniqueFd file(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), map.data(), map.size()) : -1;
    if (size < 0)
        return std::nullopt;
    return is_initial_map({map.data(), static_cast<std::size_t>(size)});
}

} // namespace gpucontainer::syscall

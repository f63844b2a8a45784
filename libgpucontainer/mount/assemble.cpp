// SPDX-License-Identifier: MIT
#include "mount/assemble.hpp"

#include "mount/calls.hpp"
#include "mount/child.hpp"
#include "mount/private_copy.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <span>
#include <utility>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

Error denied(int os_error, const std::string& what)
{
    Error error = Error::from_errno(os_error, what, Errc::apply);
    if (error.code() != Errc::permission)
        return error;
    return std::move(error).with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns "
                                      "the mount namespace");
}

Error cannot_put(int os_error, const Branch& branch)
{
    return denied(os_error, "put " + branch.path + " into the tree");
}

Result<DetachedTree> assemble_here(const Bench& bench, UniqueFd base,
                                   const std::vector<Branch>& branches,
                                   const std::vector<std::string>& parts)
{
    for (const Branch& branch : branches)
        if (attach_below(bench, branch.mount.get(), base.get(), branch.path.c_str()) != 0)
            return cannot_put(errno, branch);
    DetachedTree assembled;
    for (const std::string& path : parts) {
        assembled.parts.emplace_back(clone_tree(bench, base.get(), path.c_str(), false));
        if (!assembled.parts.back())
            return denied(errno, "clone " + path + " of the tree");
    }
    assembled.tree = std::move(base);
    return assembled;
}

/// What the child hands back: the number of branches attached, the tree, and its parts.
constexpr std::size_t count_at = 0;
constexpr std::size_t tree_at = 1;
constexpr std::size_t parts_at = 2;

constexpr const char* put_step = "put a mount into the tree";

/// Runs in the child. Returns what failed.
const char* assemble_apart(const Bench& bench, int base, const std::vector<Branch>& branches,
                           const std::vector<std::string>& parts, std::span<int> numbers) noexcept
{
    // Nobody else sees the tree there, and "/" always exists.
    if (!enter_private_copy() || attach_below(bench, base, AT_FDCWD, "/") != 0)
        return "make a mount namespace to put the tree together in";
    numbers[count_at] = 0;
    for (const Branch& branch : branches) {
        if (attach_below(bench, branch.mount.get(), base, branch.path.c_str()) != 0)
            return put_step;
        ++numbers[count_at];
    }
    int* next = &numbers[tree_at];
    *next = clone_tree(bench, base, "", true);
    for (const std::string& path : parts)
        if (*next >= 0)
            *++next = clone_tree(bench, base, path.c_str(), false);
    return *next >= 0 ? nullptr : "clone the tree";
}

Result<DetachedTree> assemble_in_child(const Bench& bench, const UniqueFd& base,
                                       const std::vector<Branch>& branches,
                                       const std::vector<std::string>& parts)
{
    Child child(parts_at + parts.size());
    const auto numbers = child.numbers();
    const char* const failed =
        child.run([&] { return assemble_apart(bench, base.get(), branches, parts, numbers); });
    const int os_error = errno;
    if (numbers.empty())
        return denied(os_error, failed);
    DetachedTree assembled;
    assembled.tree.reset(numbers[tree_at]);
    for (const int part : numbers.subspan(parts_at))
        assembled.parts.emplace_back(part);
    if (failed == put_step)
        return cannot_put(os_error, branches[static_cast<std::size_t>(numbers[count_at])]);
    if (failed != nullptr)
        return denied(os_error, failed);
    return assembled;
}

} // namespace

Result<DetachedTree> assemble(const Bench& bench, UniqueFd base,
                              const std::vector<Branch>& branches,
                              const std::vector<std::string>& parts)
{
    if (way_of(bench.backend).takes_mounts)
        return assemble_here(bench, std::move(base), branches, parts);
    return assemble_in_child(bench, base, branches, parts);
}

} // namespace gpucontainer::mount

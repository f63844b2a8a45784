// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The driver's files in one small tree: built for one container, or staged once
/// on the host and cloned for each.
namespace gpucontainer::apply {

/// The plan's tree, attached nowhere: a clone of the one that is staged at a
/// directory of the host, if that holds just what the plan wants, else a new one.
Result<base::UniqueFd> make_tree(const mount::Bench& bench, const plan::Plan& plan,
                                 const std::string& staged_tree);

/// The path of a staged tree with nothing in it but names, so that each part of it is a
/// directory to be made or removed; "" for none. Which directory a relative path names would
/// depend on who uses it, and one with ".." on links. Errors: usage.
Result<std::string> staged_path(std::string_view given);

enum class Staged : std::uint8_t { made, unchanged, replaced };

/// Mounts the plan's tree at a directory of the host, in the caller's mount
/// namespace, for make_tree() to clone. One that is there already is replaced
/// unless it holds just the same; who cloned it keeps his own. The directory is
/// made where it is missing; its path is a staged_path(). Errors: permission without
/// CAP_SYS_ADMIN, driver when a source is no longer the file that was planned, requirement with the
/// legacy backend.
Result<Staged> stage_tree(const plan::Plan& plan, mount::Backend backend,
                          const std::string& directory);

/// Unmounts what stage_tree() mounted there, and removes the directories that it made, as far
/// as they are empty; false when it is nothing.
Result<bool> unstage_tree(const std::string& directory);

} // namespace gpucontainer::apply

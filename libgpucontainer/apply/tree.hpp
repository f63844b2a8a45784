// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "plan/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The tree of driver files: built for one container, or staged once on the host and cloned for
/// each.
namespace gpucontainer::apply {

/// Makes the plan's tree as a detached mount: a clone of the staged tree, if that has exactly the
/// plan's files, else a new one. What only this image lacks is added to either.
Result<base::UniqueFd> make_tree(const mount::Bench& bench, const plan::Plan& plan,
                                 const std::string& staged_tree);

/// Makes what covers a directory: the plan's items below it in Place::cover, as a detached mount.
Result<base::UniqueFd> make_cover(const mount::Bench& bench, const plan::Plan& plan,
                                  const std::string& directory);

/// The number of mounts below `path` that these have, if that is the path of the tree or of such a
/// directory.
std::size_t count_mounts(const plan::Plan& plan, const std::string& path);

/// Normalises the path of a staged tree, so that each component is a directory to create or
/// remove; "" for none. Refuses a relative path, which would depend on the caller, and "..", which
/// would depend on links. Errors: usage.
Result<std::string> staged_path(std::string_view given);

enum class Staged : std::uint8_t { made, unchanged, replaced };

/// Mounts the plan's tree, without what depends on an image, on a directory of the host, in the
/// caller's mount namespace, for make_tree() to clone. Replaces a tree with other files; clones of
/// it stay. Creates the directory if it is missing. `directory` is a staged_path(). Errors:
/// permission without CAP_SYS_ADMIN; driver if a source is no longer the file that was planned;
/// requirement with the legacy backend.
Result<Staged> stage_tree(const plan::Plan& plan, mount::Backend backend,
                          const std::string& directory);

/// Unmounts what stage_tree() mounted there, and removes the empty directories that it made. False
/// if there was no staged tree.
Result<bool> unstage_tree(const std::string& directory);

} // namespace gpucontainer::apply

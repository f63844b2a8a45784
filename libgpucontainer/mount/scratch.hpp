// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"

namespace gpucontainer::mount {

/// The scratch directory of a bench, as long as the object lives: a tmpfs in the calling thread's
/// mount namespace. What is mounted on it does not appear in other namespaces. The bind mount below
/// it does for a moment, if the directory is on a shared mount. Mounts that were not moved away are
/// unmounted with it. If mounts are detached, there is none.
class Scratch {
public:
    /// Makes it in `directory`, which is private to its owner. One that an interrupted process left
    /// is removed first.
    static Result<Scratch> in_directory(Backend backend, int directory);
    /// Makes it over the root directory, in a mount namespace that is the caller's own.
    static Result<Scratch> in_own_namespace(Backend backend);

    Scratch(Scratch&&) noexcept = default;
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    Bench bench() const noexcept { return {backend_, fd_.get()}; }

    /// Removes it. The destructor does so too, but cannot report a failure.
    bool leave() noexcept;

private:
    explicit Scratch(Backend backend) noexcept : backend_(backend) {}

    Backend backend_;
    base::UniqueFd directory_; ///< The directory that has it; none if it is over the root.
    base::UniqueFd over_root_; ///< The mount over the root.
    base::UniqueFd fd_;
};

/// Its name in a directory. It is the same in every build, so that one left by an interrupted
/// process is found.
inline constexpr const char* scratch_name = "stage";
/// Removes what an interrupted process left in that directory. Call it only if
/// base::open_own_descriptors() succeeds.
bool remove_scratch(int directory) noexcept;

} // namespace gpucontainer::mount

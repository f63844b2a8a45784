// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"

namespace gpucontainer::mount {

/// The scratch directory of a bench, for as long as the object lives: a tmpfs of the calling
/// thread's mount namespace. Of what is mounted on it nothing is seen in other namespaces;
/// the bind that it lies on is, for a moment and where the directory is on a shared
/// mount. What was not moved off it goes with it. None where mounts are detached.
class Scratch {
public:
    /// Within `directory`, which is private to its owner, under a name of its own.
    /// Who was cut off left it there: that goes first.
    static Result<Scratch> in_directory(Backend backend, int directory);
    /// In a mount namespace that is the caller's own: over its root directory.
    static Result<Scratch> in_own_namespace(Backend backend);

    Scratch(Scratch&&) noexcept = default;
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    Bench bench() const noexcept { return {backend_, fd_.get()}; }

    /// Takes it away, as the destructor does without a way to say that it failed.
    bool leave() noexcept;

private:
    explicit Scratch(Backend backend) noexcept : backend_(backend) {}

    Backend backend_;
    base::UniqueFd directory_; ///< That it is in; none over the root.
    base::UniqueFd over_root_; ///< The mount there.
    base::UniqueFd fd_;
};

/// Its name in a directory, the same in every build: what one that was cut off left has it.
inline constexpr const char* scratch_name = "stage";
/// Takes away what a process that was cut off left in that directory. Only where
/// base::open_own_descriptors() has no complaint.
bool remove_scratch(int directory) noexcept;

} // namespace gpucontainer::mount

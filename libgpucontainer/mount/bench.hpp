// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/kernel.hpp"

namespace gpucontainer::mount {

/// With what mounts are made. A value that may be copied into a child.
struct Bench {
    Backend backend = Backend::detached;
    /// For the legacy backend: a directory that nobody else reaches, where mounts are
    /// made before they are moved to where they belong.
    int stage = -1;
    unsigned next = 0; ///< Name of the next mount there.
};

/// The directory of a bench, for as long as the object lives: a tmpfs of the calling
/// thread's mount namespace. Of what is mounted on it nothing is seen in other namespaces;
/// the bind that it lies on is, for a moment and where the directory is on a shared
/// mount. What was not moved off it goes with it. None for backends that need none.
class Stage {
public:
    /// Within `directory`, which is private to its owner, under a name of its own.
    /// Who was cut off left its stage there: it goes first.
    static Result<Stage> in_directory(Backend backend, int directory);
    /// In a mount namespace that is the caller's own: over its root directory.
    static Result<Stage> in_own_namespace(Backend backend);

    Stage(Stage&&) noexcept = default;
    Stage& operator=(Stage&&) = delete;
    ~Stage();

    Bench bench() const noexcept { return {backend_, fd_.get()}; }

    /// Takes it away, as the destructor does without a way to say that it failed.
    bool leave() noexcept;

private:
    explicit Stage(Backend backend) noexcept : backend_(backend) {}

    Backend backend_;
    base::UniqueFd directory_; ///< That the stage is in; none over the root.
    base::UniqueFd over_root_; ///< The mount there.
    base::UniqueFd fd_;
};

/// What a process left in that directory that was cut off. Only where
/// base::open_own_descriptors() has no complaint.
inline constexpr const char* stage_name = "stage";
bool remove_stage(int directory) noexcept;

} // namespace gpucontainer::mount

// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/visible_devices.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gpucontainer::plan {

/// How far Slurm's variables can be taken at their word on a host.
struct SlurmTrust {
    bool counts_one_vendor = true; ///< They count the GPUs of all vendors that have some.
    bool cgroup_forbids = false;   ///< The device cgroup keeps some GPU from this process.
    std::size_t usable = 0;        ///< How many GPUs may be used, of all vendors.
};
SlurmTrust slurm_trust(std::span<const model::DriverStack> drivers, std::size_t usable);

/// What Slurm says about the GPUs of one driver.
struct SlurmGrant {
    std::optional<VisibleLayer> layer;         ///< None where it says nothing.
    std::optional<model::Finding> passed_over; ///< What is not as the device cgroup has it.
};

/// Which of the `usable` GPUs SLURM_STEP_GPUS grants or, where that is unset or empty,
/// SLURM_JOB_GPUS: indexes of the host's GPUs, whatever the device cgroup allows. Tasks of
/// one step may have the numbers of another one in it. So a list that speaks of a GPU which
/// the device cgroup forbids, or that cannot be read, is passed over if the cgroup can be
/// Slurm's own: it forbids some GPU, and no more may be used than the list has. Otherwise
/// such a list grants nothing. Errors: usage for a list that cannot be read; no_device for
/// one that leaves no GPU, that has a number of none, or that the cgroup contradicts.
Result<SlurmGrant> read_slurm(const model::DriverStack& driver, const Environment& environment,
                              const std::vector<unsigned>& usable, const SlurmTrust& trust);

} // namespace gpucontainer::plan

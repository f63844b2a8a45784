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

/// How far Slurm's variables can be trusted on a host.
struct SlurmTrust {
    bool counts_one_vendor = true; ///< They count the GPUs of all vendors, and here is only one.
    bool cgroup_forbids = false;   ///< The device cgroup forbids this process some GPU.
    std::size_t usable = 0;        ///< How many GPUs may be used, of all vendors.
};
SlurmTrust slurm_trust(std::span<const model::DriverStack> drivers, std::size_t usable);

/// What Slurm says about the GPUs of one driver.
struct SlurmGrant {
    std::optional<VisibleLayer> layer;         ///< None if it says nothing.
    std::optional<model::Finding> passed_over; ///< A list that the device cgroup contradicts.
};

/// The `usable` GPUs that SLURM_STEP_GPUS grants; SLURM_JOB_GPUS if that is unset or empty. These
/// lists have indexes of the host's GPUs, whatever the device cgroup allows.
///
/// A task of a step may see the numbers of another task. So a list that cannot be read, or that has
/// a GPU which the device cgroup forbids, is ignored if that may be Slurm's own cgroup: it forbids
/// some GPU, and allows no more GPUs than the list has. Otherwise such a list grants nothing.
/// Errors: usage, if it cannot be read; no_device, if it leaves no GPU, has a number that no GPU
/// has, or the cgroup contradicts it.
Result<SlurmGrant> read_slurm(const model::DriverStack& driver, const Environment& environment,
                              const std::vector<unsigned>& usable, const SlurmTrust& trust);

} // namespace gpucontainer::plan

// SPDX-License-Identifier: MIT
#pragma once

#include <linux/bpf.h>
#include <optional>
#include <span>

namespace gpucontainer::cgroup {

/// What a program of a device cgroup, as it is read back from the kernel, answers: whether it
/// allows what is asked. None if it does more than to compare numbers of the device, for example
/// calls a function of the kernel.
std::optional<bool> evaluate(std::span<const bpf_insn> program, const bpf_cgroup_dev_ctx& asked);

} // namespace gpucontainer::cgroup

// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::base {

/// On a file system of the kernel's whose names stand for something else than files, such as
/// procfs, sysfs, configfs or bpf: making a name there, or reading one, has effects. True also
/// where that cannot be told: errno says why, and is 0 where it can.
bool is_on_kernel_file_system(int fd) noexcept;

/// On the kernel's procfs. False, with errno, where that cannot be told.
bool is_on_procfs(int fd) noexcept;

} // namespace gpucontainer::base

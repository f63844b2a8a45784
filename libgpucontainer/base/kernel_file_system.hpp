// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::base {

/// Whether an open file is on a file system of the kernel whose names are not stored files, such
/// as procfs, sysfs, configfs or bpf: to create or read a name there has side effects. If that
/// cannot be found out, it is true and errno says why; otherwise errno is 0.
bool is_on_kernel_file_system(int fd) noexcept;

/// Whether an open file is on procfs. False, with errno, if that cannot be found out.
bool is_on_procfs(int fd) noexcept;

} // namespace gpucontainer::base

// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace gpucontainer::host {

/// The text in a file of the kernel, without white space around it; none where there is
/// no such file or this process may not read it. Errors: driver, where it cannot be
/// told what is there.
Result<std::optional<std::string>> read_value(const std::string& path);

/// The same of a file with one line; none too where that cannot be shown.
Result<std::optional<std::string>> read_line(const std::string& path);

/// What a link of the kernel's leads to, without the directories; "" where there is no
/// such link. Errors as above.
Result<std::string> read_link_name(const std::string& path);

/// Version of a loaded kernel module: its own, or the kernel's for one that has none, as
/// those of the kernel's own tree have not. None when it is not loaded.
Result<std::optional<std::string>> loaded_module_version(const std::string& system_root,
                                                         const std::string& module);

/// Name of the module that a kernel driver is a part of; "" where it is built into the kernel,
/// none where there is no such driver. Errors as above.
Result<std::optional<std::string>> module_of_driver(const std::string& system_root,
                                                    const std::string& driver);

/// Release of the kernel, never none: the version of what is a part of it.
Result<std::optional<std::string>> kernel_release(const std::string& system_root);

} // namespace gpucontainer::host

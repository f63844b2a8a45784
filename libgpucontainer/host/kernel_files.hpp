// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace gpucontainer::host {

/// Text of a file of the kernel, without white space around it. None if there is no such file or
/// this process may not read it. Errors: driver, if neither can be found out.
Result<std::optional<std::string>> read_value(const std::string& path);

/// The same for a file with one line. Also none if the line is not printable.
Result<std::optional<std::string>> read_line(const std::string& path);

/// Target of a link of the kernel, without its directories; "" if there is no such link. Errors as
/// above.
Result<std::string> read_link_name(const std::string& path);

/// Version of a loaded kernel module. That of the kernel if the module has none, as those in the
/// kernel's tree. None if it is not loaded.
Result<std::optional<std::string>> loaded_module_version(const std::string& system_root,
                                                         const std::string& module);

/// Name of a kernel driver's module; "" if it is built into the kernel, none if there is no such
/// driver. Errors as above.
Result<std::optional<std::string>> module_of_driver(const std::string& system_root,
                                                    const std::string& driver);

/// Release of the kernel, which is the version of its own modules. Never none.
Result<std::optional<std::string>> kernel_release(const std::string& system_root);

} // namespace gpucontainer::host

// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <cstdio>
#include <string>

namespace gpuctr_cli {

/// Throws gpucontainer::Error for a failed system call, from errno: permission for EPERM and
/// EACCES, else `otherwise`. `argument` is the option, or the library's argument, that the failure
/// is about.
[[noreturn]] void fail(const std::string& what, gpuctr_status otherwise,
                       const std::string& hint = {}, const std::string& argument = {});

/// A mistake in what was typed. The hint names the --help of `command`; "": of gpuctr-setup.
gpucontainer::Error usage_error_of(const std::string& command, const std::string& problem);
std::string help_of(const std::string& command);

/// Prints the error and its hint. Returns its exit code. `remark` is appended to the message.
int report(const gpucontainer::Error& error, std::FILE* err, const std::string& remark = {});

} // namespace gpuctr_cli

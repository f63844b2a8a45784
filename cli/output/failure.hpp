// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <string>

namespace gpuctr_cli {

/// Throws gpucontainer::Error for a failed system call, from errno: permission for EPERM and
/// EACCES, else `otherwise`. `argument` is the option, or the library's argument, that the failure
/// is about.
[[noreturn]] void fail(const std::string& what, gpuctr_status otherwise,
                       const std::string& hint = {}, const std::string& argument = {});

/// A mistake in what was typed. The hint names the --help of `command`; "": of gpuctr-setup.
/// `option` is the one that it is about, without dashes, or "".
gpucontainer::Error usage_error_of(const std::string& command, const std::string& problem,
                                   const std::string& option = {});
std::string help_of(const std::string& command);

/// The words by which a command is called: "cdi generate" for "cdi-generate".
std::string words_of(const std::string& command);

} // namespace gpuctr_cli

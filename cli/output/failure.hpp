// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <cstdio>
#include <string>

namespace gpuctr_cli {

/// Throws gpucontainer::Error for the system call that failed: permission when
/// that is what errno says, else `otherwise`. `argument` is the option or the library's argument
/// that the failure is about.
[[noreturn]] void fail(const std::string& what, gpuctr_status otherwise,
                       const std::string& hint = {}, const std::string& argument = {});

/// A mistake in what was typed; `command` is whose --help the hint names, "" for the
/// one of all.
gpucontainer::Error usage_error_of(const std::string& command, const std::string& problem);
std::string help_of(const std::string& command);

/// Says what failed, and what can be done about it; returns the exit code for it.
/// `remark` goes behind the message.
int report(const gpucontainer::Error& error, std::FILE* err, const std::string& remark = {});

} // namespace gpuctr_cli

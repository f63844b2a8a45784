// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <gpucontainer/gpucontainer.hpp>

#include <string>

namespace gpuctr_cli {

/// What was being done when a call failed, in the words of its callers.
enum class FrontPhase { input, initialization, device, container, mount };

/// The log of `--debug`, and what a caller sees on standard error.
class FrontLog {
public:
    /// Appends to a file from now on. A file that cannot be opened is told of in a warning, as
    /// nothing else depends on it.
    void open(const std::string& path);
    /// The same for a file that a variable names. Others than the caller may have set that: root
    /// opens no file for it but a terminal or a standard stream.
    void open_by_variable(const std::string& path);

    /// A line of the log.
    void note(const std::string& text) const;
    /// The same, and on standard error.
    void warn(const std::string& text) const;
    /// One line on standard error: "nvidia-container-cli: PHASE error: ...".
    void fail(FrontPhase phase, const gpucontainer::Error& error) const;

    bool is_open() const noexcept { return static_cast<bool>(file_); }

private:
    Fd file_;
};

} // namespace gpuctr_cli

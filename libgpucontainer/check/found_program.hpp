// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::check {

/// A program of a container, as the kernel executes it.
struct FoundProgram {
    /// What is executed: the path of an ELF file, or of what is none. "" if there is nothing.
    std::string path;
    /// Scripts that lead to it, the first one first; the program itself may be one.
    std::vector<std::string> scripts;
    /// Why it cannot be executed, as a text that continues after the name; "" if it can.
    std::string problem;
    std::string hint;
};

/// Finds a program by its path, or by its name in the PATH of the environment, and what runs it if
/// it is a script.
FoundProgram find_program(const rootfs::View& container,
                          const std::map<std::string, std::string>& environment,
                          const std::string& program);

} // namespace gpucontainer::check

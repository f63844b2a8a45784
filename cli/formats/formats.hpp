// SPDX-License-Identifier: MIT
#pragma once

#include "formats/given.hpp"

#include <string>
#include <vector>

namespace gpuctr_cli {

/// What a person has to know who uses it: what the program cannot do, or does besides.
using Notes = std::vector<std::string>;

/// A form in which another program takes GPUs, such as options of its command line.
struct GivenFormat {
    const char* name;
    /// Throws gpucontainer::Error if the program's syntax cannot express a path: usage.
    std::string (*write)(const Given& given, Notes& notes);
    bool mounts = true; ///< The container gets files by it.
};

/// All of them, in the order of --help.
const std::vector<GivenFormat>& given_formats();

// Each is in the file of its family.
std::string docker_options(const Given& given, Notes& notes);
std::string podman_options(const Given& given, Notes& notes);
std::string bwrap_options(const Given& given, Notes& notes);
std::string nspawn_options(const Given& given, Notes& notes);
std::string apptainer_options(const Given& given, Notes& notes);
std::string charliecloud_options(const Given& given, Notes& notes);
std::string enroot_options(const Given& given, Notes& notes);
std::string lxc_configuration(const Given& given, Notes& notes);
std::string incus_profile(const Given& given, Notes& notes);
std::string shell_script(const Given& given, Notes& notes);
std::string environment_lines(const Given& given, Notes& notes);
std::string path_lines(const Given& given, Notes& notes);

} // namespace gpuctr_cli

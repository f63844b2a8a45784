// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// What a call of `nvidia-container-cli` asks for, in the words of its caller.
struct FrontArguments {
    enum class Action { help, version, info, list, configure };

    Action action = Action::help;

    std::string debug; ///< File of the log; or "".
    bool loads_kmods = false;
    std::string root = "/";
    std::vector<std::string> unneeded; ///< Options that nothing depends on here.

    bool csv = false;
    bool libraries = false;
    bool binaries = false;
    bool sockets = false;
    bool firmware_files = false;

    std::vector<std::string> devices; ///< Each may be a list.
    std::vector<std::string> channels;
    bool mig_config = false;
    bool mig_monitor = false;
    bool persistenced = true;
    bool fabric_manager = true;
    bool firmware = true;

    std::vector<std::string> capabilities;
    std::vector<std::string> requirements;
    bool compat32 = false;
    bool compat = true; ///< The image's own libcuda of a newer driver may be used.
    bool cgroups = true;
    std::optional<int> pid;
    std::string rootfs;
};

/// Reads a command line: global options, a command, its options. Throws gpucontainer::Error: usage.
FrontArguments parse_front(int argc, char** argv);

/// What --help prints.
std::string front_help();

} // namespace gpuctr_cli

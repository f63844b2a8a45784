// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::loading {

/// A call of modprobe in an install command of modprobe.d.
struct ModprobeCall {
    std::string module;
    std::string options;          ///< Parameters of the module; maybe "".
    bool ignores_command = false; ///< The module itself, whatever install command it has.

    bool operator==(const ModprobeCall&) const = default;
};

/// The calls of a command that calls modprobe and does nothing else, in their order, such as
/// Debian's for NVIDIA's modules. None if it does anything else, like /bin/false.
std::optional<std::vector<ModprobeCall>> parse_install_command(std::string_view command);

} // namespace gpucontainer::loading

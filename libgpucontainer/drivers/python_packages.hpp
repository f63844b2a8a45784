// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// A directory with packages of Python.
struct PackageDirectory {
    std::string path;               ///< "/usr/lib/python3.11/site-packages"
    std::vector<std::string> names; ///< What is in it, sorted.
};

/// The directories in which Python programs of a container find packages: those of the
/// interpreters beside its PATH, of a virtual environment, and of PYTHONPATH. The usual ones are
/// looked at too. A directory with more names than any real one has is left out.
std::vector<PackageDirectory> package_directories(const ContainerToCheck& container);

/// Directories of programs with their own libraries beside them, such as "/opt/conda" and
/// "/usr/local": those above the ones of PATH, of environments of Python and of Conda, and the
/// usual ones.
std::vector<std::string> program_prefixes(const ContainerToCheck& container);

/// Whether the program loads something of the container's that is at or below this path.
bool loads_from(const ContainerToCheck& container, std::string_view path);

/// "2.9.0+cu130" of a directory "torch-2.9.0+cu130.dist-info"; "" for other names.
std::string_view installed_version(std::string_view name, std::string_view package);

} // namespace gpucontainer::drivers

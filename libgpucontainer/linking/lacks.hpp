// SPDX-License-Identifier: MIT
#pragma once

#include "linking/linked.hpp"

#include <string>

namespace gpucontainer::linking {

/// The beginning of a name, if it is very long, as names in hostile files are.
std::string as_told(const std::string& name);

/// Adds the symbol versions that objects need of others and these do not define. A library without
/// any versions has all. glibc's loader checks that, and no other.
void find_missing_versions(Files& files, Linked& linked);

/// Adds the symbols that objects want and no object defines. Those of objects of which some library
/// is not found are left out, and what is wanted weakly. If the objects have very many symbols, or
/// some cannot be read, it is not known, and none is added.
void find_missing_symbols(Files& files, Linked& linked);

} // namespace gpucontainer::linking

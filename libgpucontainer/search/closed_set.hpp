// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "search/library_graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::search {

/// Finds the libraries, tools and data that a catalogue names, and the libraries that they need
/// (DT_NEEDED). A library's name that ends in ".so" stands for all versions.
///
/// Libraries are found where the loader finds them: by RPATH, RUNPATH and $ORIGIN, in its cache, in
/// its directories. `directories` are searched too: first for what the catalogue names, last for
/// what is needed. "*" in their components stands for anything, and newer versions come first.
///
/// All that the catalogue names comes from one installation, that of the first library found:
/// "/opt/rocm-6.4" and nothing of "/opt/rocm-5.7". Libraries that the catalogue does not name are
/// of no vendor. Those of the C library are never taken. A file is left out if something that it
/// needs is missing, for another machine, or left out itself. Errors: driver, if a part of the host
/// cannot be read.
Result<ClosedSet> find_closed_set(const host::DriverRoot& root, model::Catalogue catalogue,
                                  std::span<const std::string> directories);

} // namespace gpucontainer::search

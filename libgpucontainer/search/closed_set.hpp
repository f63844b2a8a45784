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

/// Finds the libraries and tools that the catalogue names, of any version where a
/// library's name ends in ".so", and its data, and by DT_NEEDED what they cannot be
/// loaded without, each where the loader finds it: by RPATH, RUNPATH and $ORIGIN, in its
/// cache, in its directories; and besides in `directories`, which come first for what
/// the catalogue names. In their components "*" stands for anything, newer versions
/// first. What the catalogue names comes from one installation alone, that of the
/// first library found: "/opt/rocm-6.4" and nothing of "/opt/rocm-5.7".
///
/// The C library's own family is never taken; libraries that the catalogue does not
/// name are neutral. What needs something that is not there, or is for another
/// machine, is left out, and so is what needs that. Errors: driver, where a part of
/// the host cannot be read.
Result<ClosedSet> find_closed_set(const host::DriverRoot& root, model::Catalogue catalogue,
                                  std::span<const std::string> directories);

} // namespace gpucontainer::search

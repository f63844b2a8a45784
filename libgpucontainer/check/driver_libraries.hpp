// SPDX-License-Identifier: MIT
#pragma once

#include "check/surroundings.hpp"
#include "linking/linker.hpp"
#include "model/cause.hpp"

#include <string>
#include <vector>

namespace gpucontainer::check {

/// The program that is asked about, as far as it tells what is loaded.
struct LinkedProgram {
    std::string path; ///< Of the ELF file; "" if none is known, or it has no loader.
    linking::Linked linked;
};

/// Whether programs find the driver's libraries that the plan gives, or other copies of them; also
/// copies that they would find if nothing were set up. Linkers are those of the container as it is
/// and as it will be.
void add_other_copies(const Surroundings& around, linking::Linker& before, linking::Linker& after,
                      const LinkedProgram& program, model::Causes& causes);

/// Whether programs can load the driver's libraries that the plan gives: what these need of the
/// image's own libraries. A library that the image lacks is no cause by itself, as most images lack
/// what some of the driver's files are linked to.
void add_unloadable(const Surroundings& around, linking::Linker& linker,
                    const LinkedProgram& program, model::Causes& causes);

/// Whether the image's libraries are new enough for the libraries of a driver that was asked for in
/// place of the image's own.
void add_unfit_host_libraries(const Surroundings& around, linking::Linker& linker,
                              model::Causes& causes);

} // namespace gpucontainer::check

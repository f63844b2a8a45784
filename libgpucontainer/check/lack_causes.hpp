// SPDX-License-Identifier: MIT
#pragma once

#include "check/surroundings.hpp"
#include "linking/linker.hpp"
#include "model/cause.hpp"

namespace gpucontainer::check {

/// What keeps a program from being started, as causes: what `linked` lacks.
void add_lacks(const Surroundings& around, linking::Linker& linker, const linking::Linked& linked,
               model::Causes& causes);

/// A library lacks symbol versions that one file needs, of which `version` is the newest.
struct VersionLack {
    std::string needed_by; ///< Its name in messages.
    std::string evidence;
    std::string version;
    std::string library;
    std::string elsewhere = {}; ///< A copy that has the version.
};
model::Finding version_finding(linking::Linker& linker, const VersionLack& lack);

/// Names a remedy if a library of the host's driver lacks a version in a library of the image whose
/// place the host's could take.
void add_host_remedy(const Surroundings& around, const std::string& library,
                     model::Finding& finding);

} // namespace gpucontainer::check

// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/record.hpp"
#include "cdi/specification.hpp"
#include "model/finding.hpp"

#include <string>
#include <vector>

namespace gpucontainer::cdi {

/// A small file that has to be on this host before a container can be started.
struct HostFile {
    std::string path;
    std::string content;
};

/// What is put onto this host.
struct Installation {
    std::string path; ///< Of the specification.
    std::string text; ///< Of it.
    Specification specification;
    std::vector<HostFile> files;
    /// What it was made from. The files that it mounts are added.
    std::vector<Mark> marks;
    std::string files_directory; ///< Has the files and the record of what was installed.
};

enum class Outcome : std::uint8_t { written, unchanged };

/// Writes a specification, the files that it needs, and a record of both, each atomically. A
/// specification that says the same stays as it is. Errors: exists, if another file has one of
/// the devices, or the path was not written by this function; permission, if somebody else can
/// write one of the directories; usage.
Result<Outcome> install(const Installation& installation);

/// Reports how a specification that was installed differs from this host. `marks` are those of its
/// driver, or null if nobody knows them. Nothing is reported of what others installed.
void report_changes(const std::string& path, const std::string& kind,
                    const std::string& files_directory, const std::vector<Mark>* marks,
                    model::Findings& findings);

} // namespace gpucontainer::cdi

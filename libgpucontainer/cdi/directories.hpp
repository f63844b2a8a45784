// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/specification.hpp"
#include "model/finding.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cdi {

/// Where engines look, the lower priority first.
std::span<const std::string_view> usual_directories();

/// Whether an engine gives a device to containers.
enum class State : std::uint8_t {
    usable,
    overridden, ///< A directory of higher priority has the device too.
    conflict,   ///< Two files of the same priority have it: no engine takes either.
};
std::string_view name(State state);

struct ListedDevice {
    std::string name; ///< "nvidia.com/gpu=0"
    std::string path; ///< Of the file.
    State state = State::usable;
};

/// A file without faults.
struct ListedFile {
    std::string path;
    Specification specification;
    /// Why somebody else than root and the caller may have written it: "" if nobody can.
    std::string distrust = {};
    std::string remedy = {}; ///< What can be done about that.
};

struct Listing {
    std::vector<ListedFile> files;
    std::vector<ListedDevice> devices;
    model::Findings findings;
};

/// Reads specifications as engines do. Each path is a directory, whose later ones have a higher
/// priority, or a file. A missing directory has none; a missing file is a finding. Nothing is
/// trusted: a file may be of any size and kind.
Listing read_paths(std::span<const std::string> paths);

/// What a specification names on this host that is not there, or has another number.
void report_outdated(const ListedFile& file, model::Findings& findings);

/// What a specification cannot do for some images: without a hook, libraries that it mounts come
/// after those in an image's loader cache.
void report_limits(const ListedFile& file, model::Findings& findings);

} // namespace gpucontainer::cdi

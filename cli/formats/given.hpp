// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"

#include <cstdint>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// A file or directory of the host, which the container gets read-only.
struct GivenFile {
    std::string source;
    std::string target;
    bool is_directory = false;
    bool may_execute = true; ///< Not a socket or directory of others.
};

/// A device node of the host.
struct GivenNode {
    std::string source;
    std::string target;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t mode = 0; ///< Permission bits on the host.
    std::uint32_t gid = 0;
};

struct GivenVariable {
    std::string name;
    std::optional<std::string> value; ///< None: it is taken away.
};

/// What a container of another program is given. All paths are absolute.
struct Given {
    std::vector<GivenFile> files; ///< A directory before what is in it.
    std::vector<GivenNode> nodes;
    std::vector<GivenVariable> variables;
    std::vector<std::uint32_t> groups; ///< Without one of them, a user cannot open the nodes.
    std::vector<std::string> vendors;  ///< Of whose GPUs.
    bool some_gpus = false;            ///< The host has others, which the container is not given.
};

/// Where small files that are made for containers are kept; `cdi generate` makes them.
inline constexpr const char* usual_files_directory = "/var/lib/gpucontainer-cdi";

/// Whether it has GPUs of this vendor.
bool has_vendor(const Given& given, const char* vendor);

/// What a plan with GPUCTR_LAYOUT_BINDS gives. A small file that the plan generates is left out,
/// with a warning, unless it is below `files_directory` or the host has it at the same path.
/// Throws gpucontainer::Error: usage.
Given given_by(const gpucontainer::Plan& plan, const gpucontainer::Host& host,
               const std::string& files_directory, const Messages& messages);

/// The small files that a plan generates, which have to be in `files_directory` and are not.
std::vector<std::string> missing_files(const gpucontainer::Plan& plan,
                                       const gpucontainer::Host& host,
                                       const std::string& files_directory);

/// How such files are made.
std::string how_to_make_files(const std::string& files_directory);

} // namespace gpuctr_cli

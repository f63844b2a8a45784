// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::image {

constexpr std::size_t largest_manifest_file = std::size_t{4} << 20U;
constexpr std::size_t most_layers = 512;

/// What an image in an archive consists of: paths of files in the archive.
struct ImageParts {
    std::vector<std::string> layers; ///< The lowest first.
    std::string config;              ///< "" if none is named.
};

/// The content of a file in the archive.
using ReadMember = std::function<Result<std::string>(const std::string& path)>;

constexpr const char* docker_manifest = "manifest.json";
constexpr const char* oci_index = "index.json";

/// By the list in manifest.json, of which each element is an image. Errors: refusals.
Result<ImageParts> find_docker_image(const ReadMember& read);
/// By index.json of an OCI layout. Of several images, the one for Linux on this machine's
/// architecture. Errors: refusals.
Result<ImageParts> find_oci_image(const ReadMember& read);

/// NAME=VALUE each: what an image's configuration sets for its programs. Errors: refusals.
Result<std::vector<std::string>> variables_of_config(std::string_view config);

} // namespace gpucontainer::image

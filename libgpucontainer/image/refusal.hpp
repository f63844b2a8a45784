// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::image {

/// Why an archive is not read: numbers beside those of errno, by which the process that reads it
/// says so. What that may be made to say is one of these, and a detail.
enum class Refusal : std::uint16_t {
    no_manifest = 10'000,    ///< It is another archive.
    unknown_manifest,        ///< Detail: the file.
    no_image,                ///< None is in it.
    several_docker_images,   ///< Detail: their names.
    several_oci_images,      ///< The same.
    other_platforms,         ///< Detail: those that images are for.
    missing_member,          ///< Detail: the file.
    compressed_docker_layer, ///< Detail: by which program.
    compressed_oci_layer,    ///< The same.
    unknown_layer,           ///< It is no tar. Detail: the file.
    too_much,                ///< More files, names or layers than are read.
    sparse_file,
};

/// A failure of the process that reads. Its number and its object are what another one is told.
Error refusal(Refusal why, std::string detail = {});

bool is_refusal(int number) noexcept;
/// What it means, for users. `detail` is of a process that a hostile image may have taken over.
Error refusal_error(int number, std::string_view detail);

} // namespace gpucontainer::image

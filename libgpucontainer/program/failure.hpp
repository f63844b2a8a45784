// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cerrno>
#include <cstdint>

namespace gpucontainer::program {

/// What is known of a failure beside its errno, and tells what to do about it.
enum class Cause : std::uint8_t {
    other,
    shared_mount,    ///< What was to be mounted would show in other namespaces.
    foreign_mount,   ///< Somebody mounted something below a mount of ours.
    listing,         ///< Mounts of all that a directory has could not be made.
    mount_copied,    ///< A mount below the directory could not be shown over it.
    cannot_create,   ///< A name could not be made.
    kept_file_there, ///< What an earlier replacement left is beside the file.
};

/// Why a step failed, without allocating: texts are constants or the program's.
struct Failure {
    Errc code = Errc::internal;
    int os_error = 0;
    const char* step = "";
    const char* object = "";
    Cause cause = Cause::other;
};

} // namespace gpucontainer::program

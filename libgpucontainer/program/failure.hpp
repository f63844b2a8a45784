// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cerrno>
#include <cstdint>

namespace gpucontainer::program {

/// What is known about a failure besides errno, and decides about the hint.
enum class Cause : std::uint8_t {
    other,
    shared_mount,    ///< The mount would appear in other namespaces.
    foreign_mount,   ///< Somebody mounted something below a mount of ours.
    listing,         ///< Mounts of all that a directory has could not be made.
    mount_copied,    ///< A mount below the directory could not be shown in ours over it.
    cannot_create,   ///< A name could not be made.
    kept_file_there, ///< An earlier replacement left a file beside this one.
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

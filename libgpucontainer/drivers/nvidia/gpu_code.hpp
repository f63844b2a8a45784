// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"

#include <cstddef>
#include <set>
#include <span>
#include <string_view>

/// Code for GPUs in programs and libraries: each of them has it for several architectures, in
/// containers ("fat binaries") one behind the other. A container is a header of 16 bytes, which
/// tells its size, and entries; an entry is a header of 64 bytes or more, which tells its kind,
/// architecture and size, and its content, which may be compressed.
namespace gpucontainer::drivers::nvidia {

/// For which architectures a file has code, as numbers: 90 for compute capability 9.0. Variants of
/// one, such as sm_90a, are not told apart.
struct GpuCode {
    std::set<unsigned> machine;    ///< That a GPU executes.
    std::set<unsigned> translated; ///< PTX, which the driver translates for any later GPU.
    /// There is no more than that. False: the file is damaged, or has code of another kind.
    bool complete = true;
    bool cut_off = false;    ///< There is more than may be looked at.
    std::size_t entries = 0; ///< So many were looked at.

    bool empty() const { return machine.empty() && translated.empty(); }
};

/// How a GPU runs a file's code.
enum class Fit {
    unknown,    ///< The file has no code for GPUs, or some that is not known.
    unlikely,   ///< It does not, as far as it was looked at, which is a good part.
    none,       ///< It does not.
    translated, ///< After the driver has translated it.
    direct,
};

/// `architecture` is that of the GPU, as above. Code of a GPU runs on later ones of the same major
/// number.
Fit fit_of(const GpuCode& code, unsigned architecture);

/// The same number for a compute capability "9.0"; 0 if it is not one.
unsigned architecture_number(std::string_view capability);

/// Reads the headers of the code in a file. Stops when all of the `wanted` architectures are found
/// to run it directly, or as many containers and entries have been read as `budget` has, from which
/// those read are taken. A file that is damaged, or none, has what was read before.
GpuCode read_gpu_code(base::FileRef file, std::span<const unsigned> wanted, std::size_t& budget);

} // namespace gpucontainer::drivers::nvidia

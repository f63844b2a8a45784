// SPDX-License-Identifier: MIT
#pragma once

#include "model/finding.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace gpucontainer::model {

/// Where a program that uses a GPU stops, in the order in which a run gets there.
enum class Stage : std::uint8_t {
    bus,     ///< The kernel does not reach the GPU.
    module,  ///< No driver in the kernel has the GPU.
    host,    ///< Device nodes or driver files are missing, wrong or closed to this user.
    choice,  ///< The request names what there is not.
    setup,   ///< The container cannot be made, or is made with old facts.
    start,   ///< The kernel or the loader ends the program before its first instruction.
    load,    ///< The program loads the wrong library of the driver, or none.
    init,    ///< The right library is loaded and cannot initialise.
    visible, ///< The driver works and shows this program no GPU.
    code,    ///< The program sees the GPU and has no code for it.
    feature, ///< One feature is missing, and the rest works.
};

/// Whom it stops.
enum class Blocks : std::uint8_t {
    all,  ///< The program that is asked about, or all if none is.
    some, ///< Other programs, or the use of one GPU of several.
};

/// A reason why programs will not work, or may not.
struct Cause {
    Finding finding;
    Stage stage = Stage::feature;
    Blocks blocks = Blocks::all;
    bool certain = true; ///< False: it can happen, and what is seen does not tell whether it does.
    bool mended = false; ///< Setting up mends it: it stops only what others have set up.
    bool remark = false; ///< It stops nothing, and is worth knowing.

    /// An error, if it is certain that it stops all programs; a note, if setting up mends it or it
    /// is a remark; else a warning.
    Severity severity() const
    {
        if (mended || remark)
            return Severity::note;
        return certain && blocks == Blocks::all ? Severity::error : Severity::warning;
    }
};
using Causes = std::vector<Cause>;

/// Orders causes as a person should deal with them: what stops everything first, and of that what a
/// run meets first; what setting up mends, and then remarks, last. Causes at the same place keep
/// their order.
void sort(Causes& causes);

} // namespace gpucontainer::model

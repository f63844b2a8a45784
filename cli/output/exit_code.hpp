// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Exit codes of the command; those of errors are the library's classes.
enum ExitCode : int {
    done = 0,
    internal_error = 1,
    usage_error = 2,
    something_wrong = 9,  ///< What was looked at is not as it should be.
    set_up_failed = 125,  ///< With a command to run: any of the above.
    not_executable = 126, ///< The command cannot be executed.
    not_found = 127,      ///< The command is not there.
};

} // namespace gpuctr_cli

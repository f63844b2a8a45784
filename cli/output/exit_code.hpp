// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Exit codes of the command. Errors of the library have their negated gpuctr_status.
enum ExitCode : int {
    done = 0,
    internal_error = 1,
    usage_error = 2,
    something_wrong = 9,  ///< `status` or `check` found something wrong.
    set_up_failed = 125,  ///< With -- CMD: any error but a usage error.
    not_executable = 126, ///< CMD cannot be executed.
    not_found = 127,      ///< CMD does not exist.
};

} // namespace gpuctr_cli

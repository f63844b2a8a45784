// SPDX-License-Identifier: MIT
#include "output/failure.hpp"

#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

#include <cerrno>
#include <cstring>

namespace gpuctr_cli {

void fail(const std::string& what, gpuctr_status otherwise, const std::string& hint,
          const std::string& argument)
{
    const int error = errno;
    const bool denied = error == EPERM || error == EACCES;
    throw gpucontainer::Error(denied ? GPUCTR_E_PERMISSION : otherwise,
                              formatted("{}: {}", what, ::strerrordesc_np(error)), hint, error, {},
                              argument);
}

std::string help_of(const std::string& command)
{
    return command.empty() ? "gpuctr-setup --help" : formatted("gpuctr-setup {} --help", command);
}

gpucontainer::Error usage_error_of(const std::string& command, const std::string& problem)
{
    return {GPUCTR_E_USAGE, problem, help_of(command), 0};
}

int report(const gpucontainer::Error& error, std::FILE* err, const std::string& remark)
{
    say(err, "gpuctr-setup: {}{}\n", printable(error.what()), remark);
    if (!error.hint().empty())
        say(err, "hint: {}\n", printable(error.hint()));
    return -error.status();
}

} // namespace gpuctr_cli

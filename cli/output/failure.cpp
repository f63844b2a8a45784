// SPDX-License-Identifier: MIT
#include "output/failure.hpp"

#include "output/format.hpp"

#include <algorithm>
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

std::string words_of(const std::string& command)
{
    std::string words = command;
    std::replace(words.begin(), words.end(), '-', ' ');
    return words;
}

std::string help_of(const std::string& command)
{
    return command.empty() ? "gpuctr-setup --help"
                           : formatted("gpuctr-setup {} --help", words_of(command));
}

gpucontainer::Error usage_error_of(const std::string& command, const std::string& problem,
                                   const std::string& option)
{
    return {GPUCTR_E_USAGE, problem, help_of(command), 0, {}, option};
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "failure.hpp"

#include "format.hpp"
#include "output.hpp"
#include "table.hpp"

#include <cerrno>
#include <cstring>

namespace gpuctr_setup {

void fail(const std::string& what, gpuctr_status otherwise, const std::string& hint)
{
    const int error = errno;
    const bool denied = error == EPERM || error == EACCES;
    throw gpucontainer::Error(denied ? GPUCTR_E_PERMISSION : otherwise,
                              formatted("{}: {}", what, ::strerrordesc_np(error)), hint, error);
}

int report(const gpucontainer::Error& error, std::FILE* err, const std::string& remark)
{
    say(err, "gpuctr-setup: {}{}\n", printable(error.what()), remark);
    if (!error.hint().empty())
        say(err, "hint: {}\n", printable(error.hint()));
    return -error.status();
}

} // namespace gpuctr_setup

// SPDX-License-Identifier: MIT
#include "messages.hpp"

#include "base/result.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace gpucontainer::simhost {

void say(std::string what)
{
    // Names of a stranger's host would have their way with a terminal.
    std::ranges::replace_if(what, base::is_control, '?');
    (void)std::fputs(("gpuctr-simhost: " + what + "\n").c_str(), stderr);
}

void say_left_out(const std::vector<std::string>& left_out)
{
    for (const std::string& what : left_out)
        say("left out: " + what);
}

int say_not_executed(const char* program)
{
    const Error error = Error::from_errno(errno, program);
    say(error.message());
    return error.os_error() == ENOENT ? exit_not_found : exit_not_executable;
}

} // namespace gpucontainer::simhost

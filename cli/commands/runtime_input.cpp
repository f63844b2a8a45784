// SPDX-License-Identifier: MIT
#include "commands/runtime_input.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <array>
#include <cerrno>
#include <gpucontainer/gpucontainer.hpp>
#include <unistd.h>

namespace gpuctr_cli {

std::string read_input(const Input& input)
{
    std::string text;
    std::array<char, 4096> part = {};
    while (text.size() <= input.largest) {
        const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
        if (count == 0)
            break;
        if (count < 0 && errno != EINTR)
            fail(formatted("read {} of the container from standard input", input.what),
                 GPUCTR_E_USAGE);
        if (count > 0)
            text.append(part.data(), static_cast<std::size_t>(count));
    }
    if (text.size() > input.largest)
        throw gpucontainer::Error(
            GPUCTR_E_USAGE,
            formatted("{} of the container on standard input is too long", input.what),
            "an OCI runtime calls this command as a hook", 0);
    if (text.find('\0') != std::string::npos)
        throw gpucontainer::Error(
            GPUCTR_E_USAGE,
            formatted("{} of the container: no JSON document: a NUL is in it", input.what), "", 0);
    return text;
}

} // namespace gpuctr_cli

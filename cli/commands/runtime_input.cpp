// SPDX-License-Identifier: MIT
#include "commands/runtime_input.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"

#include <array>
#include <cerrno>
#include <gpucontainer/gpucontainer.hpp>
#include <string_view>
#include <unistd.h>

namespace gpuctr_cli {

namespace {

/// The next bytes; none at the end.
std::string_view read_part(const Input& input, std::array<char, 65536>& room)
{
    ssize_t count = 0;
    do
        count = ::read(STDIN_FILENO, room.data(), room.size());
    while (count < 0 && errno == EINTR);
    if (count < 0)
        fail(formatted("read {} of the container from standard input", input.what), GPUCTR_E_USAGE);
    return {room.data(), static_cast<std::size_t>(count)};
}

} // namespace

std::string read_some_input(const Input& input)
{
    std::string text;
    std::array<char, 65536> room = {};
    while (text.size() <= input.largest) {
        const std::string_view part = read_part(input, room);
        if (part.empty())
            break;
        text.append(part);
    }
    return text;
}

void pass_on_input(const Input& input, std::FILE* out)
{
    std::array<char, 65536> room = {};
    for (std::string_view part = read_part(input, room); !part.empty();
         part = read_part(input, room))
        print(out, "{}", part);
}

std::string read_input(const Input& input)
{
    std::string text = read_some_input(input);
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

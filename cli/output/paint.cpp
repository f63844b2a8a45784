// SPDX-License-Identifier: MIT
#include "output/paint.hpp"

#include "output/format.hpp"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

std::string_view variable(const char* name)
{
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// NO_COLOR as in https://no-color.org
bool shows_colors(std::FILE* stream)
{
    const std::string_view terminal = variable("TERM");
    return variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb"
           && ::isatty(::fileno(stream)) == 1;
}

} // namespace

Paint::Paint(Color color, std::FILE* stream)
    : on_(color == Color::always || (color == Color::automatic && shows_colors(stream)))
{
}

std::string Paint::in(const char* style, const std::string& text) const
{
    return on_ && !text.empty() ? formatted("\x1b[{}m{}\x1b[0m", style, text) : text;
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>

namespace gpuctr_cli {

enum class Color : int { automatic, always, never };

/// Colours words for a terminal, or leaves them as they are. Nothing is told by colour alone.
class Paint {
public:
    /// Leaves everything as it is.
    Paint() = default;
    /// `automatic`: colours for a terminal, unless NO_COLOR is set and not empty, or TERM is
    /// "dumb" or not set.
    Paint(Color color, std::FILE* stream);

    std::string heading(const std::string& text) const { return in("1", text); }
    std::string warning(const std::string& text) const { return in("1;33", text); }
    std::string error(const std::string& text) const { return in("1;31", text); }

private:
    std::string in(const char* style, const std::string& text) const;

    bool on_ = false;
};

} // namespace gpuctr_cli

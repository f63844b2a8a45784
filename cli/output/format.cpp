// SPDX-License-Identifier: MIT
#include "output/format.hpp"

namespace gpuctr_cli {

std::string formatted_values(fmt::string_view text, fmt::format_args values)
{
    return fmt::vformat(text, values);
}

} // namespace gpuctr_cli

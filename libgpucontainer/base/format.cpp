// SPDX-License-Identifier: MIT
#include "base/format.hpp"

namespace gpucontainer::base {

std::string format_values(fmt::string_view text, fmt::format_args values)
{
    return fmt::vformat(text, values);
}

} // namespace gpucontainer::base

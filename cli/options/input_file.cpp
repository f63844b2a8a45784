// SPDX-License-Identifier: MIT
#include "options/input_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

std::string read_text(const std::string& path, const std::string& what, const std::string& hint,
                      const char* argument)
{
    constexpr std::size_t too_large = 16U << 20U;
    std::ifstream file(path, std::ios::binary);
    std::string content;
    std::array<char, 1U << 16U> part = {};
    while (file && content.size() < too_large) {
        file.read(part.data(), part.size());
        content.append(part.data(), static_cast<std::size_t>(file.gcount()));
    }
    const int error = errno;
    if (!file.is_open() || file.bad())
        throw gpucontainer::Error(error == EACCES ? GPUCTR_E_PERMISSION : GPUCTR_E_USAGE,
                                  what + " " + path + ": " + ::strerrordesc_np(error), hint, error,
                                  {}, argument);
    return content;
}

} // namespace gpuctr_cli

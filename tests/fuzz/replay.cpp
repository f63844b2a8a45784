// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

using std::filesystem::path;

std::vector<path> files_in(const path& directory)
{
    std::vector<path> files;
    if (!std::filesystem::is_directory(directory)) // a target has both or one of two
        return files;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::string content_of(const path& file)
{
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

int replay(std::span<char*> directories)
{
    std::size_t inputs = 0;
    for (const char* const directory : directories)
        for (const path& file : files_in(directory)) {
            (void)std::fprintf(stderr, "%s\n", file.c_str());
            run(content_of(file));
            ++inputs;
        }
    (void)std::printf("%zu inputs\n", inputs);
    return inputs > 0 ? 0 : 1;
}

} // namespace gpucontainer::fuzz

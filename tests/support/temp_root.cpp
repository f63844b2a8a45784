// SPDX-License-Identifier: MIT
#include "support/temp_root.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gpucontainer::test {

TempRoot::TempRoot()
{
    std::string pattern = std::filesystem::temp_directory_path() / "gpuctr-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot create " + pattern);
    root_ = pattern;
}

TempRoot::~TempRoot()
{
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
}

void TempRoot::directory(std::string_view path) { std::filesystem::create_directories(at(path)); }

void TempRoot::file(std::string_view path, std::string_view content)
{
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path), std::ios::binary) << content;
}

void TempRoot::link(std::string_view path, std::string_view target)
{
    std::filesystem::create_directories(at(path).parent_path());
    std::filesystem::create_symlink(target, at(path));
}

std::string TempRoot::read(std::string_view path) const
{
    std::ifstream stream(at(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

base::UniqueFd TempRoot::open() const
{
    return base::UniqueFd(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

} // namespace gpucontainer::test

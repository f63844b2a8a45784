// SPDX-License-Identifier: MIT
#pragma once

#include "fuzz/fuzz.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace gpucontainer::fuzz {

/// A small directory tree for the lifetime of the process. Whoever runs a target
/// that may end otherwise gives it a TMPDIR of its own.
class Scratch {
public:
    Scratch(std::initializer_list<const char*> directories,
            std::initializer_list<const char*> files)
    {
        std::string name = std::filesystem::temp_directory_path() / "gpuctr-fuzz-XXXXXX";
        demand(::mkdtemp(name.data()) != nullptr, "a directory can be made");
        path_ = name;
        for (const char* directory : directories)
            std::filesystem::create_directories(path_ / directory);
        for (const char* file : files)
            std::ofstream(path_ / file) << "content";
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace gpucontainer::fuzz

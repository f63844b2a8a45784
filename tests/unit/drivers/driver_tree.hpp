// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache_writer.hpp"
#include "elf_stub.hpp"
#include "host/driver_root.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::test {

#if defined(__aarch64__)
inline constexpr const char* native_machine = "AArch64";
inline constexpr const char* foreign_machine = "Advanced Micro Devices X86-64";
inline constexpr const char* foreign_name = "x86-64";
#else
inline constexpr const char* native_machine = "Advanced Micro Devices X86-64";
inline constexpr const char* foreign_machine = "AArch64";
inline constexpr const char* foreign_name = "aarch64";
#endif

/// Of this machine, as packages of Debian have it: "usr/lib/x86_64-linux-gnu".
inline const std::string multiarch = "usr/lib/" + std::string(elf::own_machine().multiarch);
/// The same for its 32-bit programs. "": it runs none.
inline const std::string multiarch32 =
    elf::compat32_of(elf::own_machine()) == nullptr
        ? ""
        : "usr/lib/" + std::string(elf::compat32_of(elf::own_machine())->multiarch);

/// A file system with a driver in it, made of ELF files that define nothing:
///
///     DriverTree tree;
///     tree.library("usr/lib/libcuda.so.580.1", "libcuda.so.1");
///     tree.link("usr/lib/libcuda.so.1", "libcuda.so.580.1");
///     tree.remember("libcuda.so.1", "/usr/lib/libcuda.so.1");
class DriverTree : public TempRoot {
public:
    void library(const std::string& path, const std::string& soname,
                 const std::string& machine = native_machine,
                 const std::string& elf_class = "ELF64")
    {
        stub({simhost::StubKind::library, elf_class, machine, soname, {}, {}}, path);
    }

    void tool(const std::string& path, const std::string& machine = native_machine,
              const std::string& interpreter = "")
    {
        stub({simhost::StubKind::executable, "ELF64", machine, "", {}, {}, interpreter}, path);
    }

    /// Any ELF file; a library of this machine where nothing else is said.
    void elf(const std::string& path, simhost::ElfStub what)
    {
        what.elf_class = "ELF64";
        if (what.machine.empty())
            what.machine = native_machine;
        stub(what, path);
    }

    /// One more line of the loader cache, in front of which the earlier ones are.
    void remember(std::string soname, std::string path,
                  std::int32_t flags = elf::native_cache_flags)
    {
        remembered_.push_back({std::move(soname), std::move(path), flags});
    }

    /// Makes it a root file system of this machine, whatever libraries it has.
    void of_this_machine() { file(std::string(elf::own_machine().loader.substr(1))); }

    /// Leaves the tree without a loader cache after all.
    void forget() { remembered_.clear(); }

    std::string prefix() const { return at("usr").parent_path().string(); }

    /// Writes the cache, when something was remembered, and opens `directory`.
    host::DriverRoot open_driver(const std::string& directory = "")
    {
        if (!remembered_.empty()) {
            std::vector<elf::NewCacheEntry> entries;
            for (const Line& line : remembered_)
                entries.push_back({line.soname, line.path, line.flags});
            file((std::filesystem::path(directory) / "etc/ld.so.cache").string(),
                 elf::merge(nullptr, entries)->bytes);
        }
        auto root = host::DriverRoot::open(at(directory).string());
        EXPECT_TRUE(root) << root.error().message();
        return *std::move(root);
    }

private:
    struct Line {
        std::string soname;
        std::string path;
        std::int32_t flags;
    };

    void stub(const simhost::ElfStub& what, const std::string& path)
    {
        const auto bytes = simhost::make_elf_stub(what);
        ASSERT_TRUE(bytes) << bytes.error().message();
        file(path, *bytes);
    }

    std::vector<Line> remembered_;
};

} // namespace gpucontainer::test

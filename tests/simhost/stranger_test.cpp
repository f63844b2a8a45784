// SPDX-License-Identifier: MIT
#include "stranger.hpp"

#include "elf/ld_cache_writer.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace gpucontainer::simhost {
namespace {

class StrangerTest : public ::testing::Test {
protected:
    void add_file(const std::string& path, const std::string& content = "")
    {
        RecordedFile file;
        file.path = path;
        file.mode = 04755;
        host_.files.push_back(file);
        if (!content.empty())
            host_.contents[path] = content;
    }
    void add_library(const std::string& path)
    {
        add_file(path);
        host_.files.back().elf_class = "ELF64";
        host_.files.back().machine = "x86-64";
    }
    void add_link(const std::string& path, const std::string& target)
    {
        RecordedFile file;
        file.path = path;
        file.is_link = true;
        file.target = target;
        host_.files.push_back(file);
    }
    void add_node(const std::string& path, unsigned major, unsigned minor,
                  NodeKind kind = NodeKind::character)
    {
        DeviceNode node;
        node.path = path;
        node.kind = kind;
        node.major = major;
        node.minor = minor;
        host_.nodes.push_back(node);
    }
    std::vector<std::string> restricted()
    {
        std::vector<std::string> left_out;
        restrict_stranger(host_, left_out);
        return left_out;
    }
    std::vector<std::string> paths() const
    {
        std::vector<std::string> all;
        for (const RecordedFile& file : host_.files)
            all.push_back(file.path);
        return all;
    }

    Recording host_;
};

TEST_F(StrangerTest, GivesDataNoNameByWhichItIsExecuted)
{
    add_file("/opt/nvidia/a.json", "{}");
    add_file("/opt/rocm/.info/a.pth", "import os");
    add_link("/usr/bin/nvidia-settings", "/opt/nvidia/a.json");
    add_link("/etc/profile.d/none-such.sh", "../../opt/y/a.json");
    add_link("/opt/y", "nvidia"); // on the way of another one
    add_link("/none/python3/site-packages", "/opt/rocm/.info");
    add_link("/none/nvidia", "/opt/rocm/.info");
    add_link("/none/lib", "/none/nvidia");
    std::string to_and_fro;
    for (int i = 0; i < 300; ++i)
        to_and_fro += "/opt/..";
    add_link("/etc/profile.d/none-such-2.sh", to_and_fro + "/opt/nvidia/a.json");
    add_link("/usr/share/vulkan/icd.d/nvidia.json", "/opt/nvidia/a.json");
    add_link("/opt/rocm-6", "rocm");

    EXPECT_EQ(restricted().size(), 6U);
    EXPECT_EQ(paths(), (std::vector<std::string>{
                           "/opt/nvidia/a.json", "/opt/rocm/.info/a.pth", "/none/nvidia",
                           "/usr/share/vulkan/icd.d/nvidia.json", "/opt/rocm-6"}));
    EXPECT_EQ(host_.files.front().mode, 0644U) << "data is not executed";
}

TEST_F(StrangerTest, KeepsWhatADriverHas)
{
    add_file("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05");
    add_link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.580.95.05");
    add_link("/usr/lib/x86_64-linux-gnu/libcuda.so.470", "libcuda.so.470.1");
    add_file("/usr/bin/nvidia-smi", "#!/bin/sh\n");
    add_file("/usr/share/vulkan/icd.d/nvidia_icd.json", "{}");
    add_file("/etc/cdi/nvidia.yaml", "cdiVersion: 0.6.0\n");
    add_node("/dev/nvidia-of-nobody", 3999, 77);
    host_.proc = {{"/proc/driver/nvidia/version", "580\n"}, {"/proc/devices", "\n"}};
    const Recording before = host_;

    EXPECT_EQ(restricted(), std::vector<std::string>());
    EXPECT_EQ(paths().size(), before.files.size());
    EXPECT_EQ(host_.contents, before.contents);
    EXPECT_EQ(host_.nodes.size(), 1U);
    EXPECT_EQ(host_.proc.size(), 2U);
    EXPECT_EQ(host_.files.front().mode, 0755U) << "no setuid bit";
}

TEST_F(StrangerTest, NoProgramTakesTheNameOfAnotherOne)
{
    add_file("/usr/local/bin/ls");
    add_file("/opt/bin/sh");
    add_link("/opt/x/libexec/cat", "/opt/y");

    const auto left_out = restricted();

    EXPECT_EQ(paths(), std::vector<std::string>());
    EXPECT_EQ(left_out.front(), "/usr/local/bin/ls (this machine has a program of that name)");
}

TEST_F(StrangerTest, NoLinkLeadsToAFileOfTheMachine)
{
    add_link("/usr/bin/nvidia-smi", "/bin/rm");
    add_link("/usr/lib/nvidia/x", "../../../etc/passwd");
    add_link("/usr/lib/nvidia/y", "../../../../etc/none-such");
    add_link("/usr/lib/nvidia/z", "/tmp/none-such");
    add_link("/etc/alternatives/cuda", "/usr/local/cuda-13.0");
    add_link("/usr/lib/nvidia/directory", "/usr/share");

    const auto left_out = restricted();

    EXPECT_EQ(paths(),
              (std::vector<std::string>{"/etc/alternatives/cuda", "/usr/lib/nvidia/directory"}));
    EXPECT_EQ(left_out,
              (std::vector<std::string>{"/usr/bin/nvidia-smi (it leads to a file of this machine)",
                                        "/usr/lib/nvidia/x (it leads to a file of this machine)",
                                        "/usr/lib/nvidia/y (it leads above the root directory)",
                                        "/usr/lib/nvidia/z (it leads to what any user may make)"}));
}

TEST_F(StrangerTest, NoCodeIsLeftOfScripts)
{
    for (const auto& [path, content] : std::vector<std::pair<std::string, std::string>>{
             {"/usr/bin/nvidia-smi", "#!/bin/sh\nrm -rf /\n"},
             {"/usr/bin/rocm-smi", "#!/usr/bin/env python3\nimport os\n"},
             {"/usr/bin/nvidia-a", "#!/bin/sh -c rm\n"},
             {"/usr/bin/nvidia-b", "#!/bin/rm -rf\n"},
             {"/usr/bin/nvidia-c", "#!/tmp/evil\n"},
             {"/usr/lib/python3/dist-packages/nvidia.py", "import os\n"},
             {"/usr/lib/python3/dist-packages/nvidia.pth", "import os\n"},
             {"/etc/profile.d/nvidia.sh", "rm -rf /\n"},
             {"/etc/ssh/ssh_config.d/x.conf", "ProxyCommand rm\n"},
             {"/etc/sudoers.d/x", "ALL\n"},
             {"/usr/bin/nvidia.json", "#!/bin/sh\nrm\n"}})
        add_file(path, content);

    (void)restricted();

    EXPECT_EQ(host_.contents["/usr/bin/nvidia-smi"], "#!/bin/sh\n");
    EXPECT_EQ(host_.contents["/usr/bin/rocm-smi"], "#!/usr/bin/env python3\n");
    EXPECT_EQ(host_.contents["/usr/bin/nvidia.json"], "#!/bin/sh\n");

    for (const char* path :
         {"/usr/bin/nvidia-a", "/usr/bin/nvidia-b", "/usr/bin/nvidia-c", "/etc/profile.d/nvidia.sh",
          "/usr/lib/python3/dist-packages/nvidia.py", "/usr/lib/python3/dist-packages/nvidia.pth",
          "/etc/ssh/ssh_config.d/x.conf", "/etc/sudoers.d/x"})
        EXPECT_EQ(host_.contents[path], "") << path;
}

TEST_F(StrangerTest, NoNodeIsADeviceOfTheMachine)
{
    add_node("/dev/nvidia0", 1, 1);
    add_node("/dev/nvidia1", 5, 0);
    add_node("/dev/nvidia5", 9, 250);
    add_node("/dev/nvidia6", 10, 254); // for which the kernel could load a module
    add_node("/dev/nvidia2", 8, 0, NodeKind::block);
    add_node("/dev/nvidia3", 259, 0, NodeKind::block);
    DeviceNode link;
    link.path = "/dev/nvidia4";
    link.kind = NodeKind::link;
    link.target = "/etc/passwd";
    host_.nodes.push_back(link);
    link.target = "nvidia/../../etc/passwd";
    host_.nodes.push_back(link);

    EXPECT_EQ(restricted().size(), 8U);
    std::vector<unsigned> numbers;
    for (const DeviceNode& node : host_.nodes)
        numbers.push_back(node.major);
    EXPECT_EQ(numbers, (std::vector<unsigned>{3073, 3077, 3081, 3082}));
}

TEST_F(StrangerTest, OfProcfsThereIsOnlyWhatTellsOfTheKernel)
{
    host_.proc = {{"/proc/self/status", ""},
                  {"/proc/1/environ", ""},
                  {"/proc/mounts", ""},
                  {"/proc/drivers", ""}};

    (void)restricted();

    EXPECT_TRUE(host_.proc.empty());
}

TEST_F(StrangerTest, ADamagedLoaderCacheIsLeftOut)
{
    host_.loader_cache = std::string(1000, 'x');

    EXPECT_EQ(restricted(), std::vector<std::string>{"/etc/ld.so.cache (it is damaged)"});
    EXPECT_EQ(host_.loader_cache, "");
}

TEST_F(StrangerTest, OnlyDataOfDriversIsKept)
{
    add_file("/usr/share/nvidia/a.json", "\177ELF");
    add_file("/usr/share/nvidia/b.json", "#!/bin/sh\n");
    add_file("/usr/share/nvidia/c.json", "{}");
    for (const char* path :
         {"/var/lib/gpucontainer/1/2.json", "/var/lib/nvidia/a.json", "/opt/x/a.json",
          "/etc/containers/oci/hooks.d/nvidia.json", "/etc/nvidia/hooks.d/a.json"})
        add_file(path, "{}");

    EXPECT_EQ(restricted().size(), 7U);
    for (const auto& [path, content] : host_.contents)
        EXPECT_EQ(content, path == "/usr/share/nvidia/c.json" ? "{}" : "") << path;
}

TEST_F(StrangerTest, LibrariesAreNamedBySonames)
{
    add_library("/usr/lib/libcuda.so.1");
    RecordedFile& library = host_.files.back();
    library.soname = "../libcuda.so.1";
    library.needed = {"libc.so.6", "/opt/x.so", "x.json", "lib.so.json", "libx.so.1/", ".so", ""};
    library.versions = {"GLIBC_2.2.5", "a b"};
    library.interpreter = "/opt/nvidia/a.json";

    EXPECT_EQ(restricted().size(), 4U);
    EXPECT_EQ(library.soname, "");
    EXPECT_EQ(library.needed, std::vector<std::string>{"libc.so.6"});
    EXPECT_EQ(library.versions, std::vector<std::string>{"GLIBC_2.2.5"});
    EXPECT_EQ(library.interpreter, "");
}

TEST_F(StrangerTest, LibrariesAreFoundInDirectoriesOfLibraries)
{
    add_library("/opt/rocm/lib/libx.so.1");
    add_library("/opt/rocm/lib/llvm/liby.so.1");
    add_library("/tmp/libz.so.1");
    RecordedFile& library = host_.files.front();
    library.runpath = "$ORIGIN:${ORIGIN}/../lib/llvm:/usr/lib/x:/tmp:/opt:/opt/rocm/lib/llvm/:"
                      "$ORIGIN/../../../tmp:$ORIGIN/../../../../opt/rocm/lib:$LIB:lib::/usr/lib/../"
                      "../tmp:$ORIGINAL:/usr/lib/$PLATFORM";
    library.rpath = "/home/user1/lib";

    EXPECT_EQ(restricted().size(), 2U);
    EXPECT_EQ(library.runpath, "$ORIGIN:${ORIGIN}/../lib/llvm:/usr/lib/x:/opt/rocm/lib/llvm/");
    EXPECT_EQ(library.rpath, "");
}

TEST_F(StrangerTest, TheCacheLeadsToLibraries)
{
    add_library("/opt/rocm/lib/libx.so.1");
    add_library("/tmp/libz.so.1");
    add_file("/usr/share/nvidia/a.json", "{}");
    const std::vector<elf::NewCacheEntry> entries = {
        {"libx.so.1", "/opt/rocm/lib/libx.so.1"}, {"liba.so.1", "/usr/lib/liba.so.1"},
        {"libb.so.1", "/opt/libb.so.1"},          {"libc.so.6", "/usr/share/nvidia/a.json"},
        {"libd.so.1", "/usr/lib/../../tmp/d.so"}, {"libz.so.1", "/tmp/libz.so.1"}};
    host_.loader_cache = elf::merge(nullptr, entries)->bytes;

    EXPECT_EQ(restricted().size(), 1U);
    std::vector<std::string> left;
    const auto cache = elf::LdCache::parse(host_.loader_cache);
    for (const elf::CacheEntry& entry : cache->entries())
        left.emplace_back(entry.value);
    EXPECT_THAT(left,
                testing::UnorderedElementsAre("/opt/rocm/lib/libx.so.1", "/usr/lib/liba.so.1"));
}

} // namespace
} // namespace gpucontainer::simhost

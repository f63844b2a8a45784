// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "drivers/nvidia/tegra_files.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// A machine that a test makes a Tegra, and its driver's user space.
class TegraFixture : public ::testing::Test {
protected:
    static constexpr const char* libraries = "usr/lib/aarch64-linux-gnu/nvidia";
    static constexpr unsigned gpu_major = 485;

    TegraFixture() { system_.file("proc/sys/kernel/osrelease", "5.10.104-tegra\n"); }

    void be_a_tegra() { system_.file("sys/devices/soc0/family", "Tegra\n"); }

    /// A node of that number, which the kernel calls by its name.
    void node(const std::string& name, unsigned minor, const std::string& kernels_name = "")
    {
        ASSERT_TRUE(make_node(name, gpu_major, minor));
        system_.file(base::format("sys/dev/char/{}:{}/uevent", gpu_major, minor),
                     base::format("MAJOR={}\nMINOR={}\nDEVNAME={}\n", gpu_major, minor,
                                  kernels_name.empty() ? name : kernels_name));
    }

    bool make_node(const std::string& name, unsigned major, unsigned minor)
    {
        const auto path = system_.at("dev/" + name);
        std::filesystem::create_directories(path.parent_path());
        return ::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(major, minor)) == 0;
    }

    void install()
    {
        library("libcuda.so.1.1", "libcuda.so.1", {"libnvrm_gpu.so", "libc.so.6"});
        tree_.link(std::string(libraries) + "/libcuda.so.1", "libcuda.so.1.1");
        library("libnvrm_gpu.so", "libnvrm_gpu.so", {"libnvos.so"});
        library("libnvos.so", "libnvos.so", {});
    }

    void library(const std::string& name, const std::string& soname,
                 std::vector<std::string> needed)
    {
        simhost::ElfStub stub;
        stub.kind = simhost::StubKind::library;
        stub.soname = soname;
        stub.needed = std::move(needed);
        tree_.elf(base::format("{}/{}", libraries, name), std::move(stub));
    }

    void list(const std::string& name, const std::string& text)
    {
        tree_.file(base::format("{}/{}", tegra_lists + 1, name), text);
    }

    std::string root() const { return system_.at("proc").parent_path().string(); }

    Result<std::optional<model::DriverStack>> find(const std::string& given_version = "")
    {
        const auto root_of_driver = tree_.open_driver();
        return detect({pci_, root_of_driver, root(), given_version});
    }

    model::DriverStack found()
    {
        auto driver = find();
        EXPECT_TRUE(driver) << driver.error().message();
        EXPECT_TRUE(driver && *driver);
        return driver && *driver ? **std::move(driver) : model::DriverStack();
    }

    std::string loaded() const
    {
        const auto version = loaded_version(root());
        return version && *version ? **version : "none";
    }

    /// The files of these rows.
    search::ClosedSet files(const std::string& rows)
    {
        const auto root_of_driver = tree_.open_driver();
        auto set = find_tegra_files(root_of_driver, nvidia_catalogue(), parse_tegra_csv(rows).rows);
        EXPECT_TRUE(set) << set.error().message();
        return set ? *std::move(set) : search::ClosedSet();
    }

    static std::vector<std::string> names(const std::vector<model::DriverFile>& files)
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : files)
            all.push_back(base::format("{} {}", name(file.kind),
                                       file.soname.empty() ? file.name : file.soname));
        return all;
    }

    static std::vector<std::string> paths(const std::vector<model::DeviceNode>& nodes)
    {
        std::vector<std::string> all;
        for (const model::DeviceNode& node : nodes)
            all.push_back(base::format("{} {}", node.path, node.gpu));
        return all;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator pci_;
};

} // namespace gpucontainer::drivers::nvidia

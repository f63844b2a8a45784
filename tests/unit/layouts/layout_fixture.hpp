// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "plan/builder.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer {

inline constexpr const char* version = "580.159.04";

/// A host with one GPU and a small driver, in the directories that a test names.
class LayoutTest : public ::testing::Test {
protected:
    LayoutTest() { pci_.add("0000:06:00.0", "nvidia"); }

    /// Libraries under their full names, as every package and archive has them.
    void install_libraries(const std::string& directory)
    {
        for (const auto& [name, soname] : libraries())
            tree_.library(base::format("{}/{}.so.{}", directory, name, version), soname);
    }

    /// Links of the sonames, as ldconfig makes them.
    void link_libraries(const std::string& directory)
    {
        for (const auto& [name, soname] : libraries())
            if (soname != base::format("{}.so.{}", name, version))
                tree_.link(base::format("{}/{}", directory, soname),
                           base::format("{}.so.{}", name, version));
    }

    /// Their lines of the loader cache, by the path that the loader knows.
    void remember_libraries(const std::string& directory)
    {
        for (const auto& [name, soname] : libraries())
            tree_.remember(soname, base::format("{}/{}", directory, soname));
    }

    /// A 32-bit libcuda with its line of the loader cache.
    void install_32_bit(const std::string& directory)
    {
        const std::string name = std::string("libcuda.so.") + version;
        const elf::Machine& machine = *elf::compat32_of(elf::own_machine());
        tree_.library(directory + "/" + name, "libcuda.so.1",
                      machine.number == EM_386 ? "Intel 80386" : "ARM", "ELF32");
        tree_.link(directory + "/libcuda.so.1", name);
        tree_.remember("libcuda.so.1", "/" + directory + "/libcuda.so.1", machine.cache_flags);
    }

    /// Without a loaded module, so that a plan can do without device nodes.
    Result<std::optional<model::DriverStack>> detect(const std::string& driver_root,
                                                     const std::string& driver_version)
    {
        const auto root = tree_.open_driver(driver_root);
        return drivers::nvidia::detect({pci_, root, tree_.prefix() + "/no-kernel", driver_version});
    }

    model::DriverStack detected(const std::string& driver_root = "")
    {
        auto found = detect(driver_root, version);
        EXPECT_TRUE(found) << found.error().message();
        return found && *found ? **std::move(found) : model::DriverStack();
    }

    /// Checks that this driver and nothing else was found, and is planned from
    /// there under its usual names. An empty `tool` stands for none.
    void expect_driver(const model::DriverStack& driver, const std::string& directory,
                       const std::string& tool = "/usr/bin/nvidia-smi") const
    {
        const std::string tree = "/usr/lib/gpuctr/lib64/";
        std::vector<std::string> expected;
        for (const auto& [name, soname] : libraries())
            expected.push_back(base::format("{}{}.so.{} from ROOT{}/{}.so.{}", tree, name, version,
                                            directory, name, version));
        if (!tool.empty())
            expected.push_back("/usr/lib/gpuctr/bin/nvidia-smi from ROOT" + tool);
        EXPECT_EQ(driver.version, version);
        EXPECT_EQ(items(driver, plan::ItemKind::bind), expected);
        EXPECT_THAT(
            items(driver, plan::ItemKind::symlink),
            ::testing::Contains(base::format("{}libcuda.so.1 from libcuda.so.{}", tree, version)));
    }

    /// Where the libraries for 32-bit programs are.
    std::vector<std::string> compat32_paths(const model::DriverStack& driver) const
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : driver.files)
            if (file.compat32)
                all.push_back(with_root(file.path));
        return all;
    }

    /// "SOURCE: REASON" of what was left out under this name.
    std::vector<std::string> skipped(const model::DriverStack& driver, std::string_view name) const
    {
        std::vector<std::string> all;
        for (const model::Finding& skipped : driver.findings)
            if (skipped.object == name)
                all.push_back(with_root(skipped.evidence) + ": " + skipped.text);
        return all;
    }

    test::DriverTree tree_;
    test::FakeEnumerator pci_;

private:
    struct Library {
        std::string name;
        std::string soname;
    };

    static std::vector<Library> libraries()
    {
        const std::string full_name = std::string("libnvidia-gpucomp.so.") + version;
        return {{"libcuda", "libcuda.so.1"},
                {"libnvidia-gpucomp", full_name},
                {"libnvidia-ml", "libnvidia-ml.so.1"}};
    }

    std::string with_root(std::string path) const
    {
        return path.starts_with(tree_.prefix()) ? path.replace(0, tree_.prefix().size(), "ROOT")
                                                : path;
    }

    std::vector<std::string> items(const model::DriverStack& driver, plan::ItemKind kind) const
    {
        const auto plan = plan::create_plan({&driver, 1}, {}, nullptr);
        EXPECT_TRUE(plan) << plan.error().message();
        std::vector<std::string> all;
        if (plan)
            for (const plan::Item& item : plan->items)
                if (item.kind() == kind)
                    all.push_back(base::format("{} from {}", item.target,
                                               with_root(std::string(item.source()))));
        return all;
    }
};

} // namespace gpucontainer

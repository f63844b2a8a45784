// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/user_space.hpp"
#include "unit/drivers/driver_tree.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

inline constexpr const char* version = "535.183.01";
using test::multiarch;

/// Looks for the driver in a tree that a test builds.
class UserSpaceTest : public ::testing::Test {
protected:
    /// A library under its full name, and a link of its soname to it.
    void install(const std::string& directory, const std::string& soname,
                 const std::string& of_version = version)
    {
        const std::string name = soname.substr(0, soname.find(".so")) + ".so." + of_version;
        tree_.library(directory + "/" + name, soname);
        tree_.link(directory + "/" + soname, name);
    }

    Result<UserSpace> find(const std::optional<std::string>& wanted = version,
                           model::VersionSource source = model::VersionSource::module)
    {
        const auto root = tree_.open_driver();
        return find_user_space(root, nvidia_catalogue(), wanted, source);
    }

    UserSpace found(const std::optional<std::string>& wanted = version)
    {
        auto result = find(wanted);
        EXPECT_TRUE(result) << result.error().message();
        return result ? *std::move(result) : UserSpace();
    }

    /// The message of the error, with "ROOT" for the temporary directory.
    std::string problem(const std::optional<std::string>& wanted = version)
    {
        const auto result = find(wanted);
        return result ? "no error" : with_root(result.error().message());
    }

    std::string with_root(std::string text) const
    {
        for (std::size_t at = 0; (at = text.find(tree_.prefix())) != std::string::npos;)
            text.replace(at, tree_.prefix().size(), "ROOT");
        return text;
    }

    /// "NAME links" of each file, in the order found.
    static std::vector<std::string> names(const UserSpace& space)
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : space.files)
            all.push_back(base::format("{} {}", file.name, fmt::join(file.links, " ")));
        return all;
    }

    /// Where each file is, with "ROOT" for the temporary directory.
    std::vector<std::string> paths(const UserSpace& space) const
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : space.files)
            all.push_back(with_root(file.path));
        return all;
    }

    /// "SOURCE: REASON" for what was looked at under this name.
    std::vector<std::string> skipped(const UserSpace& space, std::string_view name) const
    {
        std::vector<std::string> all;
        for (const model::Finding& skipped : space.findings)
            if (skipped.object == name)
                all.push_back(with_root(skipped.evidence + ": " + skipped.text));
        return all;
    }

    test::DriverTree tree_;
};

} // namespace gpucontainer::drivers::nvidia

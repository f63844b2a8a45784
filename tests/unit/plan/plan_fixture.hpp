// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "plan/builder.hpp"
#include "unit/plan/driver_stack.hpp"
#include "unit/plan/fake_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace gpucontainer::plan {

inline constexpr const char* tree = "/usr/lib/gpuctr";

inline std::string_view name(Place place)
{
    switch (place) {
    case Place::there:
        return "there";
    case Place::created:
        return "created";
    case Place::tree:
        return "tree";
    case Place::overlay:
        return "overlay";
    case Place::cover:
        return "cover";
    }
    return "";
}

inline std::string text(const Item& item)
{
    return base::format("{} {}: {} -> {}{}{}", plan::name(item.kind()), name(item.place),
                        item.source(), item.target, item.options().empty() ? "" : " ",
                        item.options());
}

/// What is generated for it; "" of everything else.
inline std::string content_of(const Item& item)
{
    if (const auto* file = item.as<GeneratedFile>())
        return file->content;
    const auto* const cover = item.as<GeneratedCover>();
    return cover != nullptr ? cover->content : "";
}

inline std::vector<std::string> texts(const std::vector<Variable>& variables)
{
    std::vector<std::string> all;
    all.reserve(variables.size());
    for (const Variable& variable : variables)
        all.push_back(base::format("{} {}={}", variable.action, variable.name, variable.value));
    return all;
}

/// Plans for a driver and a root file system that a test changes as it likes.
class PlanTest : public ::testing::Test {
protected:
    PlanTest()
    {
        facts_.own = true;
        facts_.writable = true;
    }

    Result<Plan> make() const
    {
        const Target target = {root_, facts_, may_make_nodes_};
        return create_plan({&driver_, 1}, request_, &target);
    }

    Plan made() const
    {
        auto plan = make();
        EXPECT_TRUE(plan) << plan.error().message();
        return plan ? *std::move(plan) : Plan();
    }

    /// Items of these kinds, or all of them, in their order.
    std::vector<std::string> items(std::initializer_list<ItemKind> kinds = {}) const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (kinds.size() == 0
                || std::find(kinds.begin(), kinds.end(), item.kind()) != kinds.end())
                all.push_back(text(item));
        return all;
    }

    Item item(ItemKind kind) const
    {
        for (const Item& item : made().items)
            if (item.kind() == kind)
                return item;
        ADD_FAILURE() << "no " << plan::name(kind);
        return {};
    }

    /// "TARGET: REASON" of what was left out under this name.
    std::vector<std::string> skipped(std::string_view name) const
    {
        std::vector<std::string> all;
        for (const model::Finding& one : made().findings)
            if (one.object == name)
                all.push_back(one.evidence + ": " + one.text);
        return all;
    }

    std::vector<std::string> messages(model::Severity severity) const
    {
        std::vector<std::string> all;
        for (const model::Finding& one : made().findings)
            if (one.severity() == severity)
                all.push_back(one.message());
        return all;
    }
    std::vector<std::string> needs() const { return messages(model::Severity::need); }
    std::vector<std::string> warnings() const { return messages(model::Severity::warning); }

    std::string problem() const
    {
        const auto plan = make();
        return plan ? "no error"
                    : base::format("{} {}", static_cast<int>(plan.error().code()),
                                   plan.error().message());
    }

    /// What a plan leaves behind when it writes its names.
    void set_up()
    {
        for (const char* name : {"/libcuda.so.1", "/libcuda.so"})
            root_.link(libraries_ + name, std::string(tree) + "/lib64" + name);
        root_.link("/usr/bin/nvidia-smi", std::string(tree) + "/bin/nvidia-smi");
        root_.link("/usr/local/nvidia", tree);
        root_.link(std::string(tree) + "/lib", "lib64");
        root_.link("/usr/local/nvidia/lib64", std::string(tree) + "/lib64");
        for (const model::DriverFile& file : driver_.files) {
            const bool tool = file.kind == model::FileKind::tool;
            const std::string path = tree + std::string(tool ? "/bin/" : "/lib64/") + file.name;
            root_.file(path);
            root_.at(path).device = file.id.device;
            root_.at(path).inode = file.id.inode;
            for (const std::string& link : file.links) {
                root_.link(std::string(tree) + "/lib64/" + link, path);
                root_.hard_link("/usr/local/nvidia/lib64/" + link, path);
            }
        }
        root_.file("/etc/ld.so.cache");
        root_.file("/etc/ld.so.conf.d/00-gpuctr.conf");
        for (const model::DeviceNode& node : driver_.nodes)
            root_.node(node.path);
    }

    model::DriverStack driver_ = test::make_driver();
    Request request_;
    test::FakeView root_ = test::FakeView::distribution();
    rootfs::RootFacts facts_;
    bool may_make_nodes_ = true;
    const std::string libraries_ = rootfs::library_directories(elf::own_machine()).front();
};

} // namespace gpucontainer::plan

// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "plan/selection.hpp"
#include "plan/visible_devices.hpp"

#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::plan {

/// What is chosen of eight GPUs in a job of Slurm.
class SlurmTest : public ::testing::Test {
protected:
    SlurmTest() : drivers_{test::make_driver()}
    {
        model::DriverStack& driver = drivers_.front();
        driver.gpus.clear();
        driver.nodes = {test::make_node("/dev/nvidiactl", 195, 255)};
        for (unsigned i = 0; i < 8; ++i) {
            driver.gpus.push_back(
                test::make_gpu(i, base::format("GPU-{}aaaaaaa-1111-2222-3333-444444444444", i),
                               base::format("0000:{:02x}:00.0", 16 + i)));
            driver.nodes.push_back(
                test::make_node(base::format("/dev/nvidia{}", i), 195, i, static_cast<int>(i)));
        }
    }

    /// As the device cgroup of a task has it.
    void allow_only(const std::vector<int>& gpus) { forbid(gpus, true); }

    /// As permissions have it.
    void permit_only(const std::vector<int>& gpus) { forbid(gpus, false); }

    void add_another_vendor()
    {
        model::DriverStack other = drivers_.front();
        other.vendor = "amd";
        other.vendor_name = "AMD";
        other.cdi_kind = "amd.com/gpu";
        other.visible_devices.clear();
        drivers_.push_back(std::move(other));
    }

    /// Indexes of the first driver's, or "CODE MESSAGE".
    std::string gpus(Environment environment)
    {
        environment_ = std::move(environment);
        model::Findings left_out;
        const auto found = select_devices(drivers_, {"auto", environment_, {}}, left_out);
        if (!found)
            return base::format("{} {}", static_cast<int>(found.error().code()),
                                found.error().message());
        selection_ = found->front();
        return base::format("{}", fmt::join(selection_.gpus, ","));
    }

    std::vector<std::string> passed_over() const
    {
        std::vector<std::string> all;
        for (const model::Finding& variable : selection_.passed_over)
            all.push_back(variable.message());
        return all;
    }

    std::vector<model::DriverStack> drivers_;
    Environment environment_;
    Selection selection_;

private:
    void forbid(const std::vector<int>& others, bool by_cgroup)
    {
        for (model::DeviceNode& node : drivers_.front().nodes) {
            node.accessible = node.gpu < 0 || std::ranges::find(others, node.gpu) != others.end();
            node.cgroup_forbids = by_cgroup && !node.accessible;
        }
    }
};

} // namespace gpucontainer::plan

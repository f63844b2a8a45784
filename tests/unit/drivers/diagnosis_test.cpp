// SPDX-License-Identifier: MIT
#include "drivers/amd/diagnosis.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/habana/diagnosis.hpp"
#include "drivers/habana/kernel.hpp"
#include "drivers/intel/diagnosis.hpp"
#include "drivers/intel/kernel.hpp"

#include "support/temp_root.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

namespace gpucontainer::drivers {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Severity;
using model::Stage;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* address = "0000:05:00.0";
constexpr const char* link_of_driver = "/sys/bus/pci/devices/0000:05:00.0/driver";

/// What makers without a user space of a fixed version know of a host.
class MakersDiagnosisTest : public ::testing::Test {
protected:
    void gpu(std::uint16_t vendor, const std::string& driver, const std::string& at = address)
    {
        pci_.add(at, driver);
        pci_.devices.back().vendor_id = vendor;
    }

    model::Causes causes(const Diagnosis& diagnosis, const model::DriverStack* driver)
    {
        model::Causes found;
        const auto root = tree_.open_driver();
        const Sources sources = {pci_, root, system_.at("sys").parent_path().string(), "", {}, ""};
        const auto done = diagnosis.of_host(sources, driver, found);
        EXPECT_TRUE(done) << done.error().message();
        return found;
    }

    Cause only_one(const Diagnosis& diagnosis, const model::DriverStack* driver)
    {
        auto found = causes(diagnosis, driver);
        EXPECT_THAT(found, SizeIs(1));
        return found.empty() ? Cause() : std::move(found.front());
    }

    void load(const std::string& module)
    {
        system_.file("sys/module/" + module + "/initstate", "live\n");
        system_.file("proc/sys/kernel/osrelease", "6.1.0\n");
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator pci_;
    model::DriverStack stack_;
};

TEST_F(MakersDiagnosisTest, AmdgpuMayNotBeLoaded)
{
    gpu(amd::pci_vendor, "");
    system_.directory("sys");

    const Cause cause = only_one(amd::diagnosis, nullptr);
    EXPECT_EQ(cause.finding.code, FindingCode::driver_not_loaded);
    EXPECT_EQ(cause.finding.evidence, link_of_driver);
    EXPECT_EQ(cause.severity(), Severity::error);
}

TEST_F(MakersDiagnosisTest, VirtualMachinesMayHaveAGpuOfAmds)
{
    load("amdgpu");
    gpu(amd::pci_vendor, "amdgpu", "0000:04:00.0");
    gpu(amd::pci_vendor, "vfio-pci");

    const Cause cause = only_one(amd::diagnosis, &stack_);
    EXPECT_EQ(cause.stage, Stage::bus);
    EXPECT_EQ(cause.blocks, Blocks::some);
    EXPECT_EQ(cause.finding.evidence, link_of_driver);
}

TEST_F(MakersDiagnosisTest, SoundOfAGpuIsNoGpu)
{
    load("amdgpu");
    gpu(amd::pci_vendor, "snd_hda_intel");
    pci_.devices.back().class_code = 0x040300;

    EXPECT_THAT(causes(amd::diagnosis, &stack_), IsEmpty());
}

TEST_F(MakersDiagnosisTest, TheTopologyOfTheComputeDriverMayBeHidden)
{
    load("amdgpu");
    system_.file("proc/devices", "Character devices:\n510 kfd\n");
    stack_.gpus.resize(2);
    stack_.gpus[1].numa_node = 1;

    const Cause cause = only_one(amd::diagnosis, &stack_);
    EXPECT_EQ(cause.finding.evidence, "/sys/devices/virtual/kfd/kfd/topology/nodes/2/properties");
    EXPECT_EQ(cause.stage, Stage::init);

    system_.file("sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0\n");
    EXPECT_THAT(causes(amd::diagnosis, &stack_), IsEmpty());
}

TEST_F(MakersDiagnosisTest, IntelsDriversMayBeOlderThanABoard)
{
    gpu(intel::pci_vendor, "");

    const Cause cause = only_one(intel::diagnosis, nullptr);
    EXPECT_EQ(cause.finding.evidence, link_of_driver);
    EXPECT_EQ(cause.stage, Stage::bus);
    EXPECT_EQ(cause.severity(), Severity::error);
    EXPECT_TRUE(explains_failure(cause));
}

TEST_F(MakersDiagnosisTest, AGpuOfIntelsWithoutRenderNodeDoesNotCompute)
{
    gpu(intel::pci_vendor, "i915");
    stack_.gpus.resize(2);
    stack_.findings = {{FindingCode::compute_node_unusable, "GPU 0000:05:00.0",
                        "has no render node", "/sys/bus/pci/devices/0000:05:00.0"}};

    EXPECT_EQ(only_one(intel::diagnosis, &stack_).blocks, Blocks::some);
    stack_.gpus.resize(1);
    EXPECT_EQ(only_one(intel::diagnosis, &stack_).blocks, Blocks::all);
}

TEST_F(MakersDiagnosisTest, HabanalabsMayNotBeLoaded)
{
    gpu(habana::pci_vendor, "");
    system_.directory("sys");

    EXPECT_EQ(only_one(habana::diagnosis, nullptr).finding.evidence, link_of_driver);
    EXPECT_EQ(only_one(habana::diagnosis, nullptr).stage, Stage::module);
}

TEST_F(MakersDiagnosisTest, AnAcceleratorWithoutControlNodeComputes)
{
    load("habanalabs");
    gpu(habana::pci_vendor, "habanalabs");
    const std::string path = "/dev/accel/accel_controlD1";
    stack_.findings = {
        {FindingCode::node_missing, "accel_controlD1", "no device node", path},
        {FindingCode::node_missing, "accel0", "no device node", "/dev/accel/accel0"}};
    stack_.missing_nodes.emplace_back().host_path = "/dev/accel/accel0";

    const Cause cause = only_one(habana::diagnosis, &stack_);
    EXPECT_EQ(cause.finding.evidence, path);
    EXPECT_EQ(cause.stage, Stage::feature);
    EXPECT_THAT(cause.finding.text, HasSubstr("hl-smi"));
}

} // namespace
} // namespace gpucontainer::drivers

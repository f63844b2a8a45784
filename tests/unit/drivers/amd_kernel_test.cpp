// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/amd/kernel.hpp"

#include "drivers/amd/amd.hpp"
#include "drivers/amd/topology.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::drivers::amd {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr unsigned drm_major = 226;
constexpr unsigned first_render_minor = 128;

/// What one GPU or partition has in the topology of the compute driver.
struct Properties {
    unsigned render_minor = first_render_minor;
    std::string unique_id = "unique_id 81985529216486895\n";
    std::string domain = "domain 0\n";
    unsigned location = 0;
    unsigned target = 90402;
};

class AmdKernelTest : public ::testing::Test {
protected:
    AmdKernelTest()
    {
        system_.directory("sys/module/amdgpu");
        system_.file("proc/sys/kernel/osrelease", "6.12.43-amd64\n");
    }

    std::string root() const { return system_.at("sys").parent_path().string(); }

    void processor(unsigned number)
    {
        node(number, "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndomain 0\n"
                     "drm_render_minor 0\ngfx_target_version 0\n");
    }

    void gpu(unsigned number, const Properties& has)
    {
        node(number,
             base::format("cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\n"
                          "location_id {}\n{}drm_render_minor {}\n{}"
                          "gfx_target_version {}\n",
                          has.location, has.domain, has.render_minor, has.unique_id, has.target));
    }

    void node(unsigned number, const std::string& properties)
    {
        system_.file(base::format("sys/class/kfd/kfd/topology/nodes/{}/properties", number),
                     properties);
    }

    void part(const std::string& name, unsigned minor, const std::string& parent,
              const std::string& driver)
    {
        const bool is_pci = parent.find(':') != std::string::npos;
        devices_.parts["drm"].push_back(
            {name, "/dev/dri/" + name, drm_major, minor, parent, driver, is_pci ? parent : ""});
    }

    /// Card and render node of a GPU, or with a parent of another kind, of a partition.
    void nodes_of(unsigned card, unsigned render, const std::string& parent)
    {
        const std::string driver = parent.find(':') != std::string::npos ? "amdgpu" : "";
        part(base::format("card{}", card), card, parent, driver);
        part(base::format("renderD{}", render), render, parent, driver);
    }

    Gpus driven()
    {
        auto found = driven_gpus(root(), devices_);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : Gpus();
    }

    static std::vector<std::string> texts(const std::vector<model::Gpu>& gpus)
    {
        std::vector<std::string> all;
        for (const model::Gpu& gpu : gpus)
            all.push_back(base::format("{} {} {} {} renderD{} {}", gpu.index, gpu.pci_address,
                                       gpu.uuid.empty() ? "-" : gpu.uuid, gpu.architecture,
                                       gpu.minor, fmt::join(gpu.names, " ")));
        return all;
    }

    static std::vector<std::string> texts(const std::vector<search::WantedNode>& nodes)
    {
        std::vector<std::string> all;
        for (const search::WantedNode& node : nodes)
            all.push_back(base::format("{} {}:{} for {}{}", node.path, node.major.value_or(0),
                                       node.minor, node.gpu, node.required ? "" : ", optional"));
        return all;
    }

    static std::vector<std::string> texts(const model::Findings& skipped)
    {
        std::vector<std::string> all;
        for (const model::Finding& one : skipped)
            all.push_back(one.object + ": " + one.text);
        return all;
    }

    test::TempRoot system_;
    test::FakeEnumerator devices_;
};

TEST_F(AmdKernelTest, HasTheVersionOfAModuleFromOutsideOfTheKernel)
{
    EXPECT_EQ(**loaded_version(root()), "6.12.43-amd64");
    system_.file("sys/module/amdgpu/version", "6.12.12\n");
    EXPECT_EQ(**loaded_version(root()), "6.12.12");
    system_.file("sys/module/amdgpu/version", "../../etc\n");
    EXPECT_EQ(**loaded_version(root()), "6.12.43-amd64");
}

TEST_F(AmdKernelTest, HasNoVersionWithoutTheModule)
{
    test::TempRoot other;
    other.directory("sys/module/nvidia");

    const auto found = loaded_version(other.at("sys").parent_path().string());

    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
}

TEST(AmdProperties, AreThoseOfAGpuAlone)
{
    const TopologyNode node = parse_properties(
        "cpu_cores_count 0\nsimd_count 304\ndrm_render_minor 135\nlocation_id 1287\ndomain 2\n"
        "unique_id 16404946649897475633\ngfx_target_version 90402\n");

    EXPECT_TRUE(node.has_simd);
    EXPECT_EQ(node.render_minor, 135U);
    EXPECT_EQ(node.location, 1287U);
    EXPECT_EQ(node.domain, 2U);
    EXPECT_EQ(node.unique_id, 16404946649897475633U);
    EXPECT_EQ(node.target, 90402U);
}

TEST(AmdProperties, MayBeAnyText)
{
    for (const char* text : {"", "\n\n", "drm_render_minor", "drm_render_minor \n",
                             "drm_render_minor -1\n", "drm_render_minor 99999999999999999999999\n",
                             "drm_render_minor 4294967424\n", "xdrm_render_minor 128\n"})
        EXPECT_EQ(parse_properties(text).render_minor, 0U) << text;
}

TEST(AmdArchitecture, IsCalledAsByCompilers)
{
    EXPECT_EQ(architecture_of(90402), "gfx942");
    EXPECT_EQ(architecture_of(90010), "gfx90a");
    EXPECT_EQ(architecture_of(90012), "gfx90c");
    EXPECT_EQ(architecture_of(100306), "gfx1036");
    EXPECT_EQ(architecture_of(110000), "gfx1100");
    EXPECT_EQ(architecture_of(0), "");
}

TEST_F(AmdKernelTest, FindsAWorkstationsRadeonBesideTheOneOfItsProcessor)
{
    processor(0);
    gpu(1, {128, "unique_id 13262009629440558341\n", "domain 0\n", 0x0300, 110000});
    gpu(2, {129, "unique_id 0\n", "domain 0\n", 0x0e00, 100306});
    nodes_of(1, 128, "0000:03:00.0");
    nodes_of(0, 129, "0000:0e:00.0");
    system_.file("sys/bus/pci/devices/0000:03:00.0/unique_id", "b80c1f7e2a9d4505\n");
    system_.file("sys/bus/pci/devices/0000:03:00.0/device", "0x744c\n");
    system_.file("sys/bus/pci/devices/0000:0e:00.0/product_name", "Ryzen's own\n");

    const Gpus found = driven();

    EXPECT_THAT(texts(found.gpus),
                ElementsAre("0 0000:03:00.0 GPU-b80c1f7e2a9d4505 gfx1100 renderD128 0/0",
                            "1 0000:0e:00.0 - gfx1036 renderD129 1/0"));
    EXPECT_EQ(found.gpus[0].model, "AMD device 0x744c");
    EXPECT_EQ(found.gpus[1].model, "Ryzen's own");
    EXPECT_THAT(texts(found.nodes), ElementsAre("/dev/dri/renderD128 226:128 for 0",
                                                "/dev/dri/card1 226:1 for 0, optional",
                                                "/dev/dri/renderD129 226:129 for 1",
                                                "/dev/dri/card0 226:0 for 1, optional"));
    EXPECT_THAT(found.findings, IsEmpty());
}

/// As the eight nodes of a GPU in one partition.
TEST_F(AmdKernelTest, LeavesRenderNodesOutThatNoPartitionUses)
{
    processor(0);
    processor(1);
    gpu(2, {128, "unique_id 1\n", "domain 0\n", 0x0500, 90402});
    gpu(3, {136, "unique_id 2\n", "domain 0\n", 0x2600, 90402});
    part("card0", 0, "0000:02:00.0", "ast"); // a management controller's
    nodes_of(1, 128, "0000:05:00.0");
    nodes_of(9, 136, "0000:26:00.0");
    for (unsigned i = 1; i < 8; ++i) {
        nodes_of(1 + i, 128 + i, base::format("amdgpu_xcp_{}", i - 1));
        nodes_of(9 + i, 136 + i, base::format("amdgpu_xcp_{}", 6 + i));
    }

    const Gpus found = driven();

    EXPECT_THAT(texts(found.gpus),
                ElementsAre("0 0000:05:00.0 GPU-0000000000000001 gfx942 renderD128 0/0",
                            "1 0000:26:00.0 GPU-0000000000000002 gfx942 renderD136 1/0"));
    EXPECT_THAT(texts(found.nodes), ElementsAre("/dev/dri/renderD128 226:128 for 0",
                                                "/dev/dri/card1 226:1 for 0, optional",
                                                "/dev/dri/renderD136 226:136 for 1",
                                                "/dev/dri/card9 226:9 for 1, optional"));
    ASSERT_EQ(found.findings.size(), 14U);
    EXPECT_EQ(texts(found.findings)[0],
              "renderD129: no partition in use has it: it is not in KFD's topology");
}

/// The parents of partitions are spelled in two ways.
class AmdPartitions : public AmdKernelTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(AmdPartitions, AreFoundInAnyOrder)
{
    processor(0);
    for (unsigned i = 0; i < 8; ++i) // of two GPUs, four partitions each
        gpu(8 - i, {128 + i, i < 4 ? "unique_id 16404946649897475633\n" : "unique_id 7\n",
                    "domain 0\n", (i < 4 ? 0x0500 : 0x2600) + i % 4, 90402});
    nodes_of(1, 132, "0000:26:00.0");
    nodes_of(0, 128, "0000:05:00.0");
    for (const unsigned i : {5U, 1U, 7U, 3U, 2U, 6U})
        nodes_of(i + 20, 128 + i, GetParam() + std::to_string(i < 4 ? i - 1 : i - 2));

    EXPECT_THAT(texts(driven().gpus),
                ElementsAre("0 0000:05:00.0 GPU-e3aa140f9a5f9e31 gfx942 renderD128 0/0",
                            "1 0000:05:00.0 GPU-e3aa140f9a5f9e31 gfx942 renderD129 0/1",
                            "2 0000:05:00.0 GPU-e3aa140f9a5f9e31 gfx942 renderD130 0/2",
                            "3 0000:05:00.0 GPU-e3aa140f9a5f9e31 gfx942 renderD131 0/3",
                            "4 0000:26:00.0 GPU-0000000000000007 gfx942 renderD132 1/0",
                            "5 0000:26:00.0 GPU-0000000000000007 gfx942 renderD133 1/1",
                            "6 0000:26:00.0 GPU-0000000000000007 gfx942 renderD134 1/2",
                            "7 0000:26:00.0 GPU-0000000000000007 gfx942 renderD135 1/3"));
}

INSTANTIATE_TEST_SUITE_P(Spellings, AmdPartitions, ::testing::Values("amdgpu_xcp_", "amdgpu_xcp."));

TEST_F(AmdKernelTest, TellsInWhichOrderProgramsCount)
{
    gpu(3, {128, "unique_id 1\n", "domain 0\n", 0x0500, 90402});
    gpu(10, {129, "unique_id 2\n", "domain 0\n", 0x2600, 90402});
    gpu(2, {130, "unique_id 3\n", "domain 0\n", 0x4600, 90402});

    EXPECT_THAT(driven().library_order, ElementsAre(2, 0, 1));
}

TEST_F(AmdKernelTest, KeepsGpusOfSeveralDomainsApart)
{
    gpu(1, {129, "unique_id 2\n", "domain 1\n", 0x0500, 90402});
    gpu(2, {128, "unique_id 1\n", "domain 0\n", 0x0500, 90402});
    gpu(3, {130, "unique_id 2\n", "domain 1\n", 0x0501, 90402});
    nodes_of(0, 128, "0000:05:00.0");
    nodes_of(1, 129, "0001:05:00.0");
    nodes_of(2, 130, "amdgpu_xcp_0");

    EXPECT_THAT(texts(driven().gpus),
                ElementsAre("0 0000:05:00.0 GPU-0000000000000001 gfx942 renderD128 0/0",
                            "1 0001:05:00.0 GPU-0000000000000002 gfx942 renderD129 1/0",
                            "2 0001:05:00.0 GPU-0000000000000002 gfx942 renderD130 1/1"));
}

TEST_F(AmdKernelTest, AsksPciWhereAnOldKernelsTopologySaysLittle)
{
    gpu(1, {128, "", "", 0x0500, 90006});
    gpu(2, {129, "", "", 0x2600, 90006});
    nodes_of(0, 128, "0001:05:00.0");
    nodes_of(1, 129, "0001:26:00.0");
    system_.file("sys/bus/pci/devices/0001:05:00.0/unique_id", "21f8d9b4c5a0e37f\n");

    EXPECT_THAT(texts(driven().gpus),
                ElementsAre("0 0001:05:00.0 GPU-21f8d9b4c5a0e37f gfx906 renderD128 0/0",
                            "1 0001:26:00.0 - gfx906 renderD129 1/0"));
}

TEST_F(AmdKernelTest, NamesAGpuWhosePartitionsHaveIdentitiesOfTheirOwn)
{
    gpu(1, {128, "unique_id 255\n", "domain 0\n", 0x0500, 90402});
    gpu(2, {129, "unique_id 254\n", "domain 0\n", 0x0501, 90402});
    nodes_of(0, 128, "0000:05:00.0");
    nodes_of(1, 129, "amdgpu_xcp_0");
    system_.file("sys/bus/pci/devices/0000:05:00.0/unique_id", "1234567812345678\n");

    EXPECT_THAT(texts(driven().gpus),
                ElementsAre("0 0000:05:00.0 GPU-00000000000000ff gfx942 renderD128 0/0 "
                            "GPU-1234567812345678",
                            "1 0000:05:00.0 GPU-00000000000000fe gfx942 renderD129 0/1 "
                            "GPU-1234567812345678"));
}

TEST_F(AmdKernelTest, TakesRenderNodesThatLieApart)
{
    const std::vector<unsigned> live = {128, 129, 130, 131, 136, 137, 138, 139};
    for (unsigned i = 0; i < live.size(); ++i)
        gpu(i + 1,
            {live[i], "unique_id 1\n", "domain 0\n", (i < 4 ? 0x0500 : 0x2600) + i % 4, 90402});
    nodes_of(0, 128, "0000:05:00.0");
    nodes_of(8, 136, "0000:26:00.0");
    for (unsigned i = 1; i < 8; ++i) {
        nodes_of(i, 128 + i, base::format("amdgpu_xcp_{}", i));
        nodes_of(8 + i, 136 + i, base::format("amdgpu_xcp_{}", 8 + i));
    }

    const Gpus found = driven();

    ASSERT_EQ(found.gpus.size(), 8U);
    EXPECT_EQ(found.gpus[3].minor, 131);
    EXPECT_EQ(found.gpus[4].minor, 136);
    EXPECT_THAT(found.gpus[4].names, ElementsAre("1/0"));
    EXPECT_EQ(found.findings.size(), 8U);
}

TEST_F(AmdKernelTest, TellsOfAGpuThatRocmCannotUse)
{
    gpu(1, {128, "unique_id 1\n", "domain 0\n", 0x0500, 90402});
    node(2, "simd_count 64\ndrm_render_minor 0\n");
    nodes_of(0, 128, "0000:05:00.0");
    nodes_of(1, 129, "0000:26:00.0");
    part("renderD130", 130, "0000:00:02.0", "i915");

    EXPECT_THAT(texts(driven().findings),
                ElementsAre("KFD node 2: a GPU without a render node",
                            "renderD129: its GPU is not in KFD's topology: ROCm cannot use it"));
}

TEST_F(AmdKernelTest, FindsGpusOfAKernelWithoutAComputeDriver)
{
    nodes_of(0, 128, "0000:05:00.0");
    nodes_of(1, 129, "amdgpu_xcp_0");
    part("renderD130", 130, "0000:00:02.0", "i915");

    EXPECT_THAT(texts(driven().gpus), ElementsAre("0 0000:05:00.0 -  renderD128 0/0"));
}

class AmdDeviceNodes : public AmdKernelTest {
protected:
    AmdDeviceNodes()
    {
        system_.file("proc/devices", "Character devices:\n226 drm\n510 kfd\n\nBlock devices:\n");
        gpu(1, {128, "unique_id 1\n", "domain 0\n", 0x0500, 90402});
        nodes_of(1, 128, "0000:05:00.0");
        system_.directory("dev/dri/by-path");
        system_.link("dev/dri/by-path/pci-0000:05:00.0-render", "../renderD128");
        system_.link("dev/dri/by-path/pci-0000:05:00.0-card", "../card1");
        system_.link("dev/dri/by-path/pci-0000:06:00.0-render", "/etc/passwd");
    }

    /// False when this user may not make nodes, and need not.
    bool make_node(const std::string& name, unsigned major, unsigned minor, mode_t mode = 0666)
    {
        const std::string path = system_.at("dev/" + name).string();
        const char* ci = std::getenv("CI");
        if (::mknod(path.c_str(), S_IFCHR, ::makedev(major, minor)) != 0) {
            EXPECT_TRUE(errno == EPERM && ci == nullptr) << name << ", errno " << errno;
            return false;
        }
        return ::chmod(path.c_str(), mode) == 0;
    }

    Result<search::Nodes> nodes() { return device_nodes(root(), "", driven().nodes, skipped_); }

    model::Findings skipped_;
};

TEST_F(AmdDeviceNodes, ComeWithTheLinksToThem)
{
    if (!make_node("kfd", 510, 0, 0660) || !make_node("dri/renderD128", 226, 128)
        || !make_node("dri/card1", 226, 1))
        GTEST_SKIP() << "this user may not make device nodes";

    const auto found = nodes();

    ASSERT_TRUE(found);
    EXPECT_THAT(found->missing, IsEmpty());
    ASSERT_EQ(found->nodes.size(), 3U);
    EXPECT_EQ(found->nodes[0].path, "/dev/kfd");
    EXPECT_EQ(found->nodes[0].mode, 0660U);
    EXPECT_EQ(found->nodes[0].gpu, -1);
    EXPECT_TRUE(found->nodes[0].required);
    EXPECT_THAT(found->nodes[0].links, IsEmpty());
    EXPECT_EQ(found->nodes[1].path, "/dev/dri/renderD128");
    EXPECT_EQ(found->nodes[1].gpu, 0);
    EXPECT_THAT(found->nodes[1].links, ElementsAre("/dev/dri/by-path/pci-0000:05:00.0-render"));
    EXPECT_EQ(found->nodes[2].path, "/dev/dri/card1");
    EXPECT_FALSE(found->nodes[2].required);
    EXPECT_THAT(found->nodes[2].links, ElementsAre("/dev/dri/by-path/pci-0000:05:00.0-card"));
}

TEST_F(AmdDeviceNodes, LackTheComputeDriversWhereItIsNotThere)
{
    system_.file("proc/devices", "Character devices:\n226 drm\n");
    if (!make_node("dri/renderD128", 226, 128))
        GTEST_SKIP() << "this user may not make device nodes";

    const auto found = nodes();

    ASSERT_TRUE(found);
    ASSERT_EQ(found->missing.size(), 1U);
    EXPECT_EQ(found->missing[0].path, "/dev/kfd");
    EXPECT_THAT(texts(skipped_), Contains("kfd: its kernel driver is not loaded"));
    EXPECT_THAT(texts(skipped_), Contains("card1: no device node: No such file or directory"));
}

TEST_F(AmdDeviceNodes, AreNoOthersOfTheSameName)
{
    system_.file("dev/kfd");
    if (!make_node("dri/renderD128", 226, 129))
        GTEST_SKIP() << "this user may not make device nodes";

    const auto found = nodes();

    ASSERT_TRUE(found);
    EXPECT_EQ(found->missing.size(), 2U);
    EXPECT_THAT(texts(skipped_), Contains("kfd: not the character device 510:0"));
    EXPECT_THAT(texts(skipped_), Contains("renderD128: not the character device 226:128"));
}

class AmdDetection : public AmdKernelTest {
protected:
    Result<std::optional<model::DriverStack>> found()
    {
        return detect({devices_, *root_, root(), "", {}, ""});
    }

    Result<host::DriverRoot> root_ = host::DriverRoot::open(root());
};

TEST_F(AmdDetection, FindsNothingWithoutModuleAndGpu)
{
    test::TempRoot other;
    other.directory("sys/module");

    const auto stack =
        detect({devices_, *root_, other.at("sys").parent_path().string(), "", {}, ""});

    ASSERT_TRUE(stack);
    EXPECT_FALSE(*stack);
}

TEST_F(AmdDetection, TellsOfGpusThatNothingDrives)
{
    test::TempRoot other;
    other.directory("sys/module");
    devices_.devices = {{"0000:05:00.0", 0x1002, 0x74a1, 0x120000, "vfio-pci", 0},
                        {"0000:0e:00.0", 0x1002, 0x164e, 0x030000, "", 0},
                        {"0000:0e:00.1", 0x1002, 0x1640, 0x040300, "snd_hda_intel", 0}};

    const auto stack =
        detect({devices_, *root_, other.at("sys").parent_path().string(), "", {}, ""});

    ASSERT_FALSE(stack);
    EXPECT_EQ(stack.error().code(), Errc::no_device);
    EXPECT_EQ(stack.error().message(), "the amdgpu kernel module is not loaded, for 0000:05:00.0 "
                                       "(vfio-pci), 0000:0e:00.0 (no driver)");
}

TEST_F(AmdDetection, TellsWhyNoGpuIsForRocm)
{
    processor(0);
    nodes_of(1, 128, "0000:05:00.0");

    const auto stack = found();

    ASSERT_FALSE(stack);
    EXPECT_EQ(stack.error().code(), Errc::no_device);
    EXPECT_THAT(stack.error().hint(), HasSubstr("renderD128: its GPU is not in KFD's topology"));
}

} // namespace
} // namespace gpucontainer::drivers::amd

// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "model/catalogue.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "config/catalogue_file.hpp"
#include "config/names.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::model {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::string_view recorded_version = "580.159.04";

std::string text_of(const std::string& path)
{
    auto text = base::read_file(GPUCTR_TEST_SOURCE_DIR "/" + path);
    EXPECT_TRUE(text) << text.error().message();
    return text ? *std::move(text) : std::string();
}

std::string describe(const CatalogueRule& rule)
{
    return base::format("{} {} {} {} {} {} {} {} {} {} {} {}", name(rule.kind), rule.name,
                        name(rule.capability), name(rule.also), rule.entry, rule.unversioned,
                        rule.reason, rule.icd, rule.module, rule.own, rule.manifests, rule.loads);
}

std::string describe(const config::FileRule& rule)
{
    constexpr std::array kinds = {"library", "tool", "data"};
    return base::format("{} {} {} {} {} {} {} {} {} {} {} {}",
                        kinds.at(static_cast<std::size_t>(rule.kind)), rule.name, rule.capability,
                        rule.also, rule.entry, rule.unversioned, rule.reason, rule.icd, rule.module,
                        rule.own, rule.manifests, rule.loads);
}

struct RecordedFile {
    std::string name;
    std::string soname;
};

/// The regular files that a recorded host has right in `directory`.
std::vector<RecordedFile> recorded_files(std::string_view directory)
{
    const std::string table = text_of("hosts/h200-x8-ubuntu24.04-580/files.tsv");
    std::vector<RecordedFile> files;
    for (const std::string_view line : base::split(table, '\n')) {
        const auto cells = base::split(line, '\t');
        if (cells.size() > 7 && cells[1] == "f" && base::directory_of(cells[0]) == directory)
            files.push_back({std::string(base::name_of(cells[0])), std::string(cells[7])});
    }
    return files;
}

/// Sonames of the recorded libraries that serve `wanted` and not `other`.
std::vector<std::string> recorded_sonames_for(Capability wanted, Capability other)
{
    std::vector<std::string> sonames;
    for (const RecordedFile& file : recorded_files("/usr/local/nvidia/lib64"))
        if (const auto* rule = find_rule(drivers::nvidia_catalogue(), FileKind::library, file.name);
            rule != nullptr && serves(*rule, wanted) && !serves(*rule, other))
            sonames.push_back(file.soname);
    return sonames;
}

constexpr std::array<CatalogueRule, 4> small = {{
    {FileKind::library, Capability::compute, Capability::none, "libcuda.so.1", true, false, "a"},
    {FileKind::library, Capability::compute, Capability::graphics, "libcore.so.{version}", false,
     false, "b"},
    {FileKind::library, Capability::display, Capability::none, "nvidia_drv.so", false, true, "c"},
    {FileKind::tool, Capability::none, Capability::none, "nvidia-smi", false, false, "d"},
}};

TEST(Catalogue, KnowsALibraryOfAnyVersion)
{
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda.so"), small.data());
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda.so.1"), small.data());
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda.so.580.159.04"), small.data());
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda.so.1.1"), small.data());
    EXPECT_EQ(find_rule(small, FileKind::library, "libcore.so.580.159.04"), &small[1]);
    EXPECT_EQ(find_rule(small, FileKind::library, "nvidia_drv.so"), &small[2]);
}

TEST(Catalogue, DoesNotTakeOneNameForAnother)
{
    EXPECT_EQ(find_rule(small, FileKind::library, "libcud.so.1"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, "libcudadebugger.so.1"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda.sock"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, "libcuda"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, ".so.1"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, ""), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::library, "nvidia-smi"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::tool, "libcuda.so.1"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::tool, "nvidia-sm"), nullptr);
    EXPECT_EQ(find_rule(small, FileKind::tool, "nvidia-smi2"), nullptr);
    EXPECT_EQ(find_rule({}, FileKind::tool, "nvidia-smi"), nullptr);
}

TEST(Catalogue, ServesBothCapabilitiesAndNeverNone)
{
    EXPECT_TRUE(serves(small[1], Capability::compute));
    EXPECT_TRUE(serves(small[1], Capability::graphics));
    EXPECT_FALSE(serves(small[1], Capability::video));
    EXPECT_FALSE(serves(small[1], Capability::none));
    EXPECT_FALSE(serves(small[3], Capability::none));
}

TEST(Catalogue, PutsTheDriverVersionIntoTheSoname)
{
    EXPECT_EQ(soname_of(small[0], recorded_version), "libcuda.so.1");
    EXPECT_EQ(soname_of(small[1], recorded_version), "libcore.so.580.159.04");
}

TEST(Catalogue, NamesReadBack)
{
    for (const std::string_view text : config::capability_names) {
        const auto capability = parse_capability(text);
        ASSERT_TRUE(capability) << text;
        EXPECT_EQ(name(*capability), text);
    }
    EXPECT_EQ(parse_capability("ngx"), Capability::ngx);
    EXPECT_EQ(parse_capability("magic"), std::nullopt);
    EXPECT_EQ(parse_file_kind("tool"), FileKind::tool);
    EXPECT_EQ(name(FileKind::library), "library");
    EXPECT_EQ(parse_file_kind("device"), std::nullopt);
}

TEST(NvidiaCatalogue, IsWhatTheFileSays)
{
    const auto file =
        config::parse_catalogue(text_of("../libgpucontainer/drivers/nvidia/catalogue.yaml"));
    ASSERT_TRUE(file) << file.error().message();

    std::vector<std::string> written;
    for (const config::FileRule& rule : file->rules)
        written.push_back(describe(rule));
    std::vector<std::string> built_in;
    for (const CatalogueRule& rule : drivers::nvidia_catalogue())
        built_in.push_back(describe(rule));

    EXPECT_EQ(built_in, written);
}

TEST(NvidiaCatalogue, KnowsEveryLibraryOfTheRecordedHost)
{
    const auto libraries = recorded_files("/usr/local/nvidia/lib64");

    EXPECT_THAT(libraries, SizeIs(26));
    for (const RecordedFile& file : libraries) {
        const CatalogueRule* rule =
            find_rule(drivers::nvidia_catalogue(), FileKind::library, file.name);
        ASSERT_NE(rule, nullptr) << file.name;
        EXPECT_EQ(soname_of(*rule, recorded_version), file.soname);
        EXPECT_NE(rule->capability, Capability::none) << file.name;
    }
}

TEST(NvidiaCatalogue, KnowsEveryToolOfTheRecordedHost)
{
    const auto tools = recorded_files("/usr/local/nvidia/bin");

    EXPECT_THAT(tools, SizeIs(5));
    for (const RecordedFile& file : tools)
        EXPECT_NE(find_rule(drivers::nvidia_catalogue(), FileKind::tool, file.name), nullptr)
            << file.name;
}

TEST(NvidiaCatalogue, KeepsGraphicsOutOfComputeContainers)
{
    EXPECT_THAT(recorded_sonames_for(Capability::graphics, Capability::compute),
                UnorderedElementsAre(
                    "libEGL_nvidia.so.0", "libGLESv1_CM_nvidia.so.1", "libGLESv2_nvidia.so.2",
                    "libGLX_nvidia.so.0", "libnvidia-eglcore.so.580.159.04", "libnvidia-fbc.so.1",
                    "libnvidia-glcore.so.580.159.04", "libnvidia-glsi.so.580.159.04",
                    "libnvidia-glvkspirv.so.580.159.04", "libnvidia-rtcore.so.580.159.04",
                    "libnvidia-tls.so.580.159.04", "libnvoptix.so.1"));
}

TEST(NvidiaCatalogue, GivesGraphicsWhatItSharesWithCompute)
{
    EXPECT_THAT(recorded_sonames_for(Capability::compute, Capability::graphics),
                UnorderedElementsAre("libcuda.so.1", "libcudadebugger.so.1", "libnvidia-nvvm.so.4",
                                     "libnvidia-opencl.so.1",
                                     "libnvidia-pkcs11-openssl3.so.580.159.04",
                                     "libnvidia-ptxjitcompiler.so.1"));
}

TEST(NvidiaCatalogue, KeepsTheToolsOfTheHostOut)
{
    for (const std::string_view tool : {"nvidia-modprobe", "nvidia-settings", "nvidia-installer"}) {
        const CatalogueRule* rule = find_rule(drivers::nvidia_catalogue(), FileKind::tool, tool);
        ASSERT_NE(rule, nullptr) << tool;
        EXPECT_EQ(rule->capability, Capability::none);
    }
}

} // namespace
} // namespace gpucontainer::model

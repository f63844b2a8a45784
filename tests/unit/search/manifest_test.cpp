// SPDX-License-Identifier: MIT
#include "search/manifest.hpp"

#include "base/format.hpp"
#include "unit/drivers/driver_tree.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::search {
namespace {

using model::DriverFile;
using model::Manner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool is_acme(const std::string& library) { return library.starts_with("libacme"); }

std::string problem_of(std::string_view json)
{
    const auto manifest = read_manifest(json, is_acme);
    return manifest ? "" : manifest.error().message();
}

TEST(Manifest, NamesItsLibraryWithoutADirectory)
{
    for (const char* path : {"libacme.so.1", "/nix/store/x-acme/lib/libacme.so.1",
                             "../../lib/libacme.so.1", "./libacme.so.1"}) {
        const auto manifest = read_manifest(
            base::format(R"({{"ICD": {{"library_path": "{}", "api_version": "1.4.312"}}}})", path),
            is_acme);
        ASSERT_TRUE(manifest) << manifest.error().message();
        EXPECT_EQ(manifest->library, "libacme.so.1");
        EXPECT_THAT(manifest->content, HasSubstr(R"("library_path": "libacme.so.1")"));
        EXPECT_THAT(manifest->content, HasSubstr(R"("api_version": "1.4.312")"));
    }
}

TEST(Manifest, IsForProgramsOf32BitsAndOf64)
{
    const auto manifest = read_manifest(
        R"({"ICD": {"library_path": "/usr/lib64/libacme.so.1", "library_arch": "64"}})", is_acme);
    ASSERT_TRUE(manifest) << manifest.error().message();
    EXPECT_THAT(manifest->content, Not(HasSubstr("library_arch")));
}

TEST(Manifest, KeepsTheLayersOfKnownLibraries)
{
    const auto manifest = read_manifest(
        R"({"layers": [{"name": "A", "library_path": "/x/libacme.so.1"},
                       {"name": "B", "library_path": "libother.so.1"}]})",
        is_acme);
    ASSERT_TRUE(manifest) << manifest.error().message();
    EXPECT_EQ(manifest->library, "libacme.so.1");
    EXPECT_THAT(manifest->content, HasSubstr("\"A\""));
    EXPECT_THAT(manifest->content, Not(HasSubstr("libother")));
    EXPECT_THAT(problem_of(R"({"layers": [{"library_path": "libother.so.1"}]})"),
                "names libother.so.1, which is no library of the driver");
    EXPECT_EQ(problem_of(R"({"layer": {"library_path": "libacme.so"}})"), "");
}

TEST(Manifest, IsADocumentThatNamesALibrary)
{
    for (const char* json : {"", "null", "[]", "{", "{\"ICD\": {\"library_path\": \"\xff\"}}"})
        EXPECT_EQ(problem_of(json), "is not the JSON document of a manifest") << json;
    for (const char* json :
         {"{}", R"({"ICD": 1})", R"({"ICD": {}})", R"({"ICD": {"library_path": 1}})",
          R"({"ICD": {"library_path": ""}})", R"({"ICD": {"library_path": "/lib/"}})",
          R"({"ICD": {"library_path": "/lib/.."}})", R"({"ICD": {"library_path": "a\u0000b"}})",
          R"({"layers": {}})", R"({"layers": [1]})", R"({"layers": []})"})
        EXPECT_EQ(problem_of(json), "names no library") << json;
    EXPECT_EQ(problem_of(R"({"ICD": {"library_path": "libother.so.1"}})"),
              "names libother.so.1, which is no library of the driver");
}

TEST(Manifest, HasALimitedSizeAndDepth)
{
    const std::string icd = R"({"ICD": {"library_path": "libacme.so.1"}, "x": )";
    const auto nested = [&](std::size_t levels) {
        return icd + std::string(levels, '[') + std::string(levels, ']') + "}";
    };
    EXPECT_EQ(problem_of(nested(8)), "");
    EXPECT_EQ(problem_of(nested(20)), "is not the JSON document of a manifest");
    EXPECT_EQ(problem_of(nested(30'000)), "is not the JSON document of a manifest");
    EXPECT_EQ(problem_of(icd + std::string(70'000, '[')), "is larger than a manifest");
}

class ManifestsTest : public ::testing::Test {
protected:
    ManifestsTest()
    {
        DriverFile egl;
        egl.soname = "libacme-egl.so.0";
        egl.registrations = {{Manner::loader}, {Manner::vulkan_icd, "acme_icd.json"}};
        DriverFile glx;
        glx.soname = "libacme-glx.so.0";
        glx.registrations = {{Manner::loader},
                             {Manner::egl_vendor, "10_acme.json"},
                             {Manner::vulkan_layer, "layers.json"}};
        files_.push_back(egl);
        files_.push_back(glx);
    }

    void look()
    {
        const auto root = tree_.open_driver();
        add_manifests(root, prefixes_, files_, findings_);
    }

    /// "MANNER NAME" of each registration, and "!" if it has content.
    std::vector<std::string> found(std::size_t file) const
    {
        std::vector<std::string> all;
        for (const model::Registration& one : files_.at(file).registrations)
            all.push_back(base::format("{} {}{}", model::name(one.manner), one.name,
                                       one.content.empty() ? "" : "!"));
        return all;
    }

    test::DriverTree tree_;
    std::vector<std::string> prefixes_;
    std::vector<DriverFile> files_;
    model::Findings findings_;
};

TEST_F(ManifestsTest, AreMadeWhereTheHostHasNoneButForLayers)
{
    tree_.directory("usr");
    look();

    EXPECT_THAT(found(0), ElementsAre("loader ", "vulkan_icd acme_icd.json"));
    EXPECT_THAT(found(1), ElementsAre("loader ", "egl_vendor 10_acme.json"));
    EXPECT_THAT(findings_, IsEmpty());
}

TEST_F(ManifestsTest, AreTheHostsWhereverTheDriverIsInstalled)
{
    prefixes_ = {"/opt/acme"};
    tree_.file("etc/vulkan/icd.d/acme_icd.json",
               R"({"ICD": {"library_path": "libacme-egl.so.0"}})");
    tree_.file("opt/acme/share/vulkan/implicit_layer.d/layers.json",
               R"({"layer": {"library_path": "libacme-glx.so.0"}})");
    look();

    EXPECT_THAT(found(0), ElementsAre("loader ", "vulkan_icd acme_icd.json!"));
    EXPECT_THAT(found(1),
                ElementsAre("loader ", "egl_vendor 10_acme.json", "vulkan_layer layers.json!"));
}

TEST_F(ManifestsTest, BelongToTheLibraryThatTheyName)
{
    tree_.file("usr/share/vulkan/icd.d/acme_icd.x86_64.json",
               R"({"ICD": {"library_path": "/x/libacme-glx.so.0"}})");
    tree_.file("usr/share/vulkan/icd.d/acme_icd.aarch64.json",
               R"({"ICD": {"library_path": "/x/libacme-glx.so.0"}})");
    look();

    EXPECT_THAT(found(0), ElementsAre("loader "));
    EXPECT_THAT(found(1),
                ElementsAre("loader ", "egl_vendor 10_acme.json", "vulkan_icd acme_icd.json!"));
}

TEST_F(ManifestsTest, AreMadeWhereTheHostsAreOfNoUse)
{
    tree_.file("usr/share/vulkan/icd.d/acme_icd.json", "{}");
    tree_.file("usr/share/glvnd/egl_vendor.d/10_acme.json",
               R"({"ICD": {"library_path": "libother.so.0"}})");
    look();

    EXPECT_THAT(found(0), ElementsAre("loader ", "vulkan_icd acme_icd.json"));
    EXPECT_THAT(found(1), ElementsAre("loader ", "egl_vendor 10_acme.json"));
    ASSERT_EQ(findings_.size(), 2U);
    EXPECT_EQ(findings_[0].object, "acme_icd.json");
    EXPECT_EQ(findings_[0].text, "names no library");
    EXPECT_EQ(findings_[0].evidence, tree_.prefix() + "/usr/share/vulkan/icd.d/acme_icd.json");
    EXPECT_EQ(findings_[1].text, "names libother.so.0, which is no library of the driver");
}

TEST_F(ManifestsTest, MayBeOfLayersBesideThoseOfDrivers)
{
    const std::string path = "vulkan/icd.d/layers.json";
    tree_.file("usr/share/" + path, R"({"layers": [{"library_path": "libacme-glx.so.0"}]})");
    look();

    EXPECT_THAT(found(1),
                ElementsAre("loader ", "egl_vendor 10_acme.json", "vulkan_layer layers.json!"));
    EXPECT_THAT(manifest_places(files_, {}, elf::own_machine()),
                Contains(::testing::AllOf(Field(&ManifestPlace::directory, "/etc/vulkan/icd.d"),
                                          Field(&ManifestPlace::names, Contains("layers.json")))));
}

TEST_F(ManifestsTest, AreLookedForByTheNameOfTheDriversMachine)
{
    for (const char* name : {"aarch64", "ppc64le"}) {
        const auto places = manifest_places(files_, {}, *elf::find_machine(name));
        EXPECT_THAT(places, Contains(Field(&ManifestPlace::names,
                                           Contains(base::format("acme_icd.{}.json", name)))));
    }
}

} // namespace
} // namespace gpucontainer::search

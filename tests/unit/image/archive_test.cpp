// SPDX-License-Identifier: MIT
#include "image/archive.hpp"

#include "image/open_root.hpp"
#include "image/place.hpp"
#include "unit/image/made_image.hpp"
#include "unit/image/made_tar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sys/wait.h>

namespace gpucontainer::image {
namespace {

using test::TarImage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

#if defined(__aarch64__)
constexpr const char* own = "arm64";
#else
constexpr const char* own = "amd64";
#endif
constexpr const char* another = "mips64le";

std::string layer(const std::string& name, const std::string& content = "content")
{
    return TarImage().file(name, content).bytes();
}

/// As docker save writes it.
TarImage docker(const std::string& manifest)
{
    return TarImage()
        .file("a/layer.tar", layer("f", "1"))
        .file("b.tar", layer("f", "2"))
        .link("c/layer.tar", "../a/layer.tar")
        .file("config.json", R"({"config": {"Env": ["A=b"]}})")
        .file("manifest.json", manifest);
}
std::string docker_image(const std::string& layers, const std::string& name = "x:1")
{
    return R"({"Config": "config.json", "RepoTags": [")" + name + R"("], "Layers": [)" + layers
           + "]}";
}

std::string descriptor(const std::string& blob, const std::string& more = {})
{
    return R"({"digest": "sha256:)" + blob + R"(", "size": 1)" + more + "}";
}
std::string platform(const std::string& architecture, const std::string& os = "linux")
{
    return R"(, "platform": {"os": ")" + os + R"(", "architecture": ")" + architecture + R"("})";
}
/// An OCI layout with images of one layer, whose file is named after the manifest.
TarImage oci(const std::string& manifests)
{
    TarImage tar;
    tar.file("oci-layout", R"({"imageLayoutVersion": "1.0.0"})");
    tar.file("index.json", R"({"schemaVersion": 2, "manifests": [)" + manifests + "]}");
    for (const std::string name : {"a1", "b2"}) {
        tar.file("blobs/sha256/" + name, R"({"config": )" + descriptor("c") + R"(, "layers": [)"
                                             + descriptor("layer-" + name) + "]}");
        tar.file("blobs/sha256/layer-" + name, layer("of-" + name));
    }
    return tar.file("blobs/sha256/c", "{}");
}

class ArchiveTest : public ::testing::Test {
protected:
    static std::unique_ptr<rootfs::RootView> opened(const TarImage& archive)
    {
        auto view = open_root(test::file_of(archive.bytes()).get());
        EXPECT_TRUE(view) << view.error().message();
        return view ? *std::move(view) : nullptr;
    }
    static std::vector<std::string> names(const TarImage& archive)
    {
        const auto view = opened(archive);
        return view ? *view->list("/", 100) : std::vector<std::string>();
    }
    static void expect_error(const TarImage& archive, const std::string& text,
                             const std::string& hint = {}, Errc code = Errc::requirement)
    {
        const auto view = open_root(test::file_of(archive.bytes()).get());
        ASSERT_FALSE(view) << text;
        EXPECT_THAT(view.error().message(), HasSubstr(text));
        EXPECT_THAT(view.error().hint(), HasSubstr(hint));
        EXPECT_EQ(view.error().code(), code);
        EXPECT_EQ(view.error().os_error(), 0);
    }
    static void expect_broken(const TarImage& archive, const std::string& text)
    {
        expect_error(archive, text, "", Errc::rootfs);
    }
};

TEST_F(ArchiveTest, ShowsTheLayersOfADockerArchive)
{
    for (const auto& [layers, content] :
         {std::pair(R"("a/layer.tar", "b.tar")", "2"), std::pair(R"("b.tar", "c/layer.tar")", "1"),
          std::pair(R"("./b.tar", "/a/layer.tar")", "1")}) {
        const auto view = opened(docker("[" + docker_image(layers) + "]"));
        ASSERT_NE(view, nullptr);
        EXPECT_EQ(*view->read("/f", 100), content);
        EXPECT_THAT(*view->list("/", 100), ElementsAre("f"));
        EXPECT_TRUE(view->facts().read_only);
        EXPECT_TRUE(view->check());
    }
    EXPECT_THAT(names(docker("[" + docker_image("") + "]")), ElementsAre());
}

TEST_F(ArchiveTest, IsNoneIfItBeginsLikeWhatIsMounted)
{
    TarImage tar;
    tar.file("hsqs", "").file("b.tar", layer("f")).file("config.json", "{}");
    tar.file("manifest.json", "[" + docker_image("\"b.tar\"") + "]");
    expect_error(tar, "squashfs of version 0.0");
}

TEST_F(ArchiveTest, NamesTheImagesIfThereAreSeveral)
{
    const std::string two =
        "[" + docker_image("\"b.tar\"") + ", " + docker_image("\"b.tar\"", "y:2") + "]";
    expect_error(docker(two), "several images: x:1, y:2", "docker save -o FILE NAME");
    expect_error(docker(R"([{"Config": "p.json", "RepoTags": null}, {"Config": "q.json"}])"),
                 "several images: p.json, q.json");
}

TEST_F(ArchiveTest, RefusesManifestsThatSayNothing)
{
    for (const std::string manifest :
         {"", "{}", "[", "[1]", R"([{"Layers": {}}])", R"([{"Layers": [1]}])", "[\"\xff\"]"})
        expect_broken(docker(manifest), "manifest.json of the archive says nothing");
    std::string deep = docker_image("\"b.tar\"");
    deep.insert(1, R"("x": )" + std::string(40, '[') + std::string(40, ']') + ", ");
    expect_broken(docker("[" + deep + "]"), "manifest.json");
    expect_broken(docker(std::string(100'000, '[')), "manifest.json");
    std::string layers = "\"b.tar\"";
    for (int i = 0; i < 512; ++i)
        layers += ", \"b.tar\"";
    expect_broken(docker("[" + docker_image(layers) + "]"), "manifest.json");
    expect_broken(docker("[" + docker_image("\"b.tar\"") + "]" + std::string(5U << 20U, ' ')),
                  "manifest.json");
    expect_broken(docker("[]"), "without an image");
    expect_broken(TarImage().file("etc/passwd"), "neither manifest.json nor index.json");
}

TEST_F(ArchiveTest, RefusesLayersThatAreNotThere)
{
    for (const char* const path : {"missing.tar", "../../etc/passwd", "a"})
        expect_broken(docker("[" + docker_image(std::string("\"") + path + "\"") + "]"),
                      std::string("the archive lacks ") + path);
}

TEST_F(ArchiveTest, SaysWhichProgramCompressedALayer)
{
    for (const auto& [magic, program] : {std::pair(std::string("\x1f\x8b\x08"), "gzip"),
                                         std::pair(std::string("(\xb5/\xfd"), "zstd"),
                                         std::pair(std::string("\xfd"
                                                               "7zXZ\0",
                                                               6),
                                                   "xz"),
                                         std::pair(std::string("BZh9"), "bzip2")}) {
        TarImage tar = docker("[" + docker_image(R"("b.tar", "z")") + "]");
        tar.file("z", magic + std::string(600, 'z'));
        expect_error(tar, std::string("compressed with ") + program,
                     "skopeo copy docker-archive:IMAGE docker-archive:NEW");
        TarImage layout = oci(descriptor("a1"));
        layout.file("blobs/sha256/layer-a1", magic + std::string(600, 'z'));
        expect_error(layout, std::string("compressed with ") + program,
                     "skopeo copy oci-archive:IMAGE docker-archive:NEW");
    }
    TarImage other = docker("[" + docker_image("\"z\"") + "]");
    other.file("z", std::string(600, 'z'));
    expect_error(other, "z of the archive is no layer");
}

TEST_F(ArchiveTest, TakesLayersWithoutFiles)
{
    for (const std::string& empty : {std::string(), std::string(1024, '\0')}) {
        TarImage tar = docker("[" + docker_image(R"("b.tar", "z")") + "]");
        tar.file("z", empty);
        EXPECT_THAT(names(tar), ElementsAre("f"));
    }
}

TEST_F(ArchiveTest, ShowsTheImageOfAnOciArchive)
{
    EXPECT_THAT(names(oci(descriptor("a1"))), ElementsAre("of-a1"));
    EXPECT_THAT(names(oci(descriptor("a1") + ", " + descriptor("a1"))), ElementsAre("of-a1"));
    // One alone is taken, whatever it is for; what it is for is seen in its files.
    EXPECT_THAT(names(oci(descriptor("b2", platform(another)))), ElementsAre("of-b2"));
}

TEST_F(ArchiveTest, ChoosesTheImageForThisMachine)
{
    EXPECT_THAT(
        names(oci(descriptor("a1", platform(another)) + ", " + descriptor("b2", platform(own)))),
        ElementsAre("of-b2"));
    EXPECT_THAT(names(oci(descriptor("a1", platform("unknown", "unknown")) + ", "
                          + descriptor("b2", platform(own)))),
                ElementsAre("of-b2"));
    expect_error(oci(descriptor("a1", platform(another)) + ", "
                     + descriptor("b2", platform(own, "windows"))),
                 std::string("sha256:a1 (linux/") + another + "), sha256:b2 (windows/" + own + ")");
    const std::string named = R"(, "annotations": {"org.opencontainers.image.ref.name": "one"})";
    expect_error(oci(descriptor("a1", named) + ", " + descriptor("b2", platform(own))),
                 "several images: one, sha256:b2");
}

TEST_F(ArchiveTest, ShowsTheVariablesOfTheConfiguration)
{
    const auto view = opened(docker("[" + docker_image("") + "]"));
    ASSERT_NE(view, nullptr);
    EXPECT_THAT(*view->variables(), ElementsAre("A=b"));
    TarImage others = docker("[" + docker_image("") + "]");
    others.file("config.json", R"({"config": {"Env": ["=x", "none", "A=1=2", "B=\u0000", "C="]}})");
    EXPECT_THAT(*opened(others)->variables(), ElementsAre("A=1=2", "C="));
    for (const char* const config :
         {R"({"config": {"Env": {}}})", R"({"config": {"Env": [1]}})", "["}) {
        TarImage lies = docker("[" + docker_image("") + "]");
        expect_broken(lies.file("config.json", config),
                      "the configuration of the archive says nothing");
    }
}

TEST_F(ArchiveTest, FollowsIndexesToADepth)
{
    const std::string type = R"(, "mediaType": "application/vnd.oci.image.index.v1+json")";
    TarImage nested = oci(descriptor("index", type));
    nested.file("blobs/sha256/index", R"({"manifests": [)" + descriptor("a1", platform(another))
                                          + ", " + descriptor("b2", platform(own)) + "]}");
    EXPECT_THAT(names(nested), ElementsAre("of-b2"));
    TarImage loop = oci(descriptor("index", type));
    loop.file("blobs/sha256/index", R"({"manifests": [)" + descriptor("index", type) + "]}");
    expect_broken(loop, "blobs/sha256/index of the archive says nothing");
}

TEST_F(ArchiveTest, RefusesLayoutsThatSayNothing)
{
    expect_broken(oci(""), "without an image");
    expect_broken(oci("1"), "index.json");
    expect_broken(oci(R"({"digest": "sha256:../../x"})"), "index.json");
    expect_broken(oci(R"({"digest": "a1"})"), "index.json");
    expect_broken(oci(descriptor("missing")), "the archive lacks blobs/sha256/missing");
    TarImage other = oci(descriptor("a1"));
    other.file("blobs/sha256/a1", R"({"layers": [{}]})");
    expect_broken(other, "blobs/sha256/a1");
}

TEST_F(ArchiveTest, PrefersTheManifestOfDocker)
{
    TarImage both = oci(descriptor("a1")).file("config.json", "{}");
    both.file("b.tar", layer("of-docker"));
    both.file("manifest.json", "[" + docker_image("\"b.tar\"") + "]");
    EXPECT_THAT(names(both), ElementsAre("of-docker"));
}

TEST_F(ArchiveTest, RepeatsNothingThatATerminalObeys)
{
    const auto view = open_root(
        test::file_of(docker("[" + docker_image(R"("\u001b[2Jx\n")") + "]").bytes()).get());
    ASSERT_FALSE(view);
    EXPECT_THAT(view.error().message(), HasSubstr("lacks ?[2Jx?,"));
    const auto longer = open_root(
        test::file_of(
            docker("[" + docker_image("\"" + std::string(5000, 'x') + "\"") + "]").bytes())
            .get());
    ASSERT_FALSE(longer);
    EXPECT_LT(longer.error().message().size(), 700U);
}

TEST_F(ArchiveTest, IsNotMounted)
{
    const auto place = find_root_file_system(test::file_of(oci(descriptor("a1")).bytes()).get());
    ASSERT_FALSE(place);
    EXPECT_EQ(place.error().code(), Errc::requirement);
    EXPECT_EQ(place.error().object(), archive_kind);
    const auto compressed =
        find_root_file_system(test::file_of("\x1f\x8b" + std::string(600, 'z')).get());
    ASSERT_FALSE(compressed);
    EXPECT_THAT(compressed.error().message(), HasSubstr("compressed as a whole, with gzip"));
}

TEST_F(ArchiveTest, IsReadByAProcessOfItsOwn)
{
    auto view = opened(oci(descriptor("a1")));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "a child that runs";
    view.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ArchiveTest, IsCutOff)
{
    const std::string whole = docker("[" + docker_image("\"b.tar\"") + "]").bytes();
    for (const std::size_t size : {whole.size() / 2, std::size_t{600}, std::size_t{1500}}) {
        const auto view = open_root(test::file_of(whole.substr(0, size)).get());
        ASSERT_FALSE(view);
        EXPECT_EQ(view.error().code(), Errc::rootfs);
    }
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(OciLayoutTest, IsNoRootFileSystem)
{
    test::TempRoot tree;
    tree.file("oci-layout", "{}");
    EXPECT_TRUE(open_root(tree.open().get()));
    tree.file("index.json", "{}");
    const auto view = open_root(tree.open().get());
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code(), Errc::requirement);
    EXPECT_THAT(view.error().message(), HasSubstr("is an OCI layout"));
    tree.directory("usr");
    EXPECT_TRUE(open_root(tree.open().get())) << "it may have been left there";
}

} // namespace
} // namespace gpucontainer::image

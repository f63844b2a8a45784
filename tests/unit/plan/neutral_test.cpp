// SPDX-License-Identifier: MIT
#include "elf/ld_cache_writer.hpp"
#include "elf_stub.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Where such libraries are in the tree.
constexpr const char* place = "/usr/lib/gpuctr/distribution/lib64";

/// What the host's distribution built: libglvnd and OpenCL's loader. The image has a C library.
class DistributionLoadersTest : public PlanTest {
protected:
    DistributionLoadersTest()
    {
        add("libGLdispatch.so.0", Capability::graphics, {});
        add("libEGL.so.1", Capability::graphics, {"libGLdispatch.so.0"});
        add("libOpenGL.so.0", Capability::graphics, {"libGLdispatch.so.0"});
        add("libOpenCL.so.1", Capability::compute, {});
        add("libGLX.so.0", Capability::graphics, {"libGLdispatch.so.0", "libX11.so.6"});
        add("libGL.so.1", Capability::graphics, {"libGLX.so.0", "libGLdispatch.so.0"});
        driver_.files[2].needed = {"libGLdispatch.so.0"};
        request_.capabilities = "compute,graphics";
        give("libc.so.6", {"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.36"});
    }

    void add(const std::string& soname, Capability capability, std::vector<std::string> needed)
    {
        DriverFile file = test::make_library(soname, capability, next_inode_++);
        file.precedence = model::Precedence::image;
        file.needed = std::move(needed);
        file.versions = {{"libc.so.6", "GLIBC_2.34"}};
        driver_.files.push_back(file);
    }

    void give(const std::string& soname, std::vector<std::string> versions = {},
              std::string directory = {}, bool compat32 = false)
    {
        if (directory.empty())
            directory = libraries_;
        simhost::ElfStub stub;
        const bool is_x86 = elf::own_machine().number == EM_X86_64;
        stub.elf_class = compat32 ? "ELF32" : "ELF64";
        stub.machine = compat32 ? (is_x86 ? "Intel 80386" : "ARM")
                                : (is_x86 ? "Advanced Micro Devices X86-64" : "AArch64");
        stub.soname = soname;
        stub.definitions = std::move(versions);
        const auto bytes = simhost::make_elf_stub(stub);
        ASSERT_TRUE(bytes) << bytes.error().message();
        root_.file(directory + "/" + soname, *bytes);
    }

    /// Which of them are taken.
    std::vector<std::string> taken() const
    {
        std::vector<std::string> all;
        for (const std::string& text : items({ItemKind::bind}))
            for (const char* name :
                 {"libEGL", "libGL", "libGLX", "libGLdispatch", "libOpenCL", "libOpenGL"})
                if (text.find(base::format("{}/{}.so", place, name)) != std::string::npos)
                    all.emplace_back(name);
        return all;
    }

    std::string reason_against(const std::string& name) const
    {
        const auto reasons = skipped(name + ".so.580.1");
        return reasons.size() == 1 ? reasons.front() : std::to_string(reasons.size());
    }

    std::vector<std::string> found(std::string_view soname) const
    {
        const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
        EXPECT_TRUE(cache) << cache.error().message();
        std::vector<std::string> all;
        for (const elf::CacheEntry& entry : cache->lookup(soname))
            all.emplace_back(entry.value);
        return all;
    }

private:
    std::uint64_t next_inode_ = 50;
};

TEST_F(DistributionLoadersTest, ComeToAnImageThatHasNone)
{
    EXPECT_THAT(taken(), ElementsAre("libGLdispatch", "libEGL", "libOpenGL", "libOpenCL"));
}

TEST_F(DistributionLoadersTest, LieApartFromWhatIsTheSameForAllImages)
{
    request_.capabilities = "compute";
    const std::string library = base::format("{}/libOpenCL.so.580.1", place);

    EXPECT_THAT(items({ItemKind::bind, ItemKind::symlink}),
                AllOf(Contains(base::format("bind tree: /drv/lib/libOpenCL.so.580.1 -> {} "
                                            "ro,nosuid,nodev",
                                            library)),
                      Contains(base::format("symlink tree: libOpenCL.so.580.1 -> {}/libOpenCL.so.1",
                                            place))));
    EXPECT_THAT(found("libOpenCL.so.1"), ElementsAre(base::format("{}/libOpenCL.so.1", place)));
}

TEST_F(DistributionLoadersTest, AreFoundAfterACopyThatTheImageGetsLater)
{
    std::vector<std::string> files;
    for (const Item& item : made().items)
        if (item.kind() == ItemKind::file)
            files.push_back(item.target + ": " + content_of(item));
    EXPECT_THAT(files, ElementsAre("/etc/ld.so.conf.d/00-gpuctr.conf: /usr/lib/gpuctr/lib64\n",
                                   base::format("/etc/ld.so.conf.d/zz-gpuctr.conf: {}\n", place)));

    root_.remove("/etc/ld.so.conf");
    EXPECT_EQ(content_of(item(ItemKind::file)), base::format("/usr/lib/gpuctr/lib64\n{}\n", place));
}

TEST_F(DistributionLoadersTest, StayOutIfTheyCouldNotBeLoaded)
{
    EXPECT_THAT(reason_against("libGLX"),
                HasSubstr("needs libX11.so.6, which the image does not have"));
    EXPECT_THAT(reason_against("libGL"), HasSubstr("needs libGLX.so.0, which is left out"));
    EXPECT_THAT(found("libGL.so.1"), ElementsAre());
    EXPECT_THAT(warnings(), ElementsAre());

    give("libX11.so.6");
    EXPECT_THAT(taken(), ElementsAre("libGLdispatch", "libEGL", "libOpenGL", "libOpenCL", "libGLX",
                                     "libGL"));
}

TEST_F(DistributionLoadersTest, AreTheSameForARootThatHasThemFromUs)
{
    const Plan first = made();
    set_up();
    std::vector<std::string> names;
    for (const DriverFile& file : driver_.files)
        if (file.precedence == model::Precedence::image)
            names.push_back(file.soname);
    std::vector<std::string> paths;
    for (const std::string& name : names)
        paths.push_back(base::format("{}/{}", place, name));
    std::vector<elf::NewCacheEntry> entries;
    for (std::size_t i = 0; i < names.size(); ++i)
        entries.push_back({names[i], paths[i]});
    // They may be those of an older host.
    for (const std::string& name : names)
        give(name, {}, place);
    root_.file("/etc/ld.so.cache", elf::merge(nullptr, entries)->bytes);

    EXPECT_EQ(made().identity, first.identity);
    EXPECT_THAT(taken(), ElementsAre("libGLdispatch", "libEGL", "libOpenGL", "libOpenCL"));
}

TEST_F(DistributionLoadersTest, LieAmongTheImagesLibrariesWithoutATree)
{
    request_.layout = Layout::merged;

    EXPECT_THAT(items({ItemKind::bind}),
                Contains(base::format("bind created: /drv/lib/libEGL.so.580.1 -> "
                                      "{}/libEGL.so.580.1 ro,nosuid,nodev",
                                      libraries_)));
    EXPECT_THAT(reason_against("libGLX"), HasSubstr("needs libX11.so.6"));
}

TEST_F(DistributionLoadersTest, ComeFor32BitProgramsByThemselves)
{
    const elf::Machine* const machine = elf::compat32_of(elf::own_machine());
    if (machine == nullptr)
        GTEST_SKIP() << "this machine runs no 32-bit programs";
    add("libvulkan.so.1", Capability::graphics, {});
    driver_.files.back().compat32 = true;
    const std::string libraries = rootfs::library_directories(*machine).front();
    root_.file(std::string(machine->loader));
    request_.capabilities = "graphics,compat32";
    EXPECT_THAT(reason_against("libvulkan"), HasSubstr("the image's C library is not found"));

    give("libc.so.6", {"libc.so.6", "GLIBC_2.36"}, libraries, true);
    EXPECT_THAT(items({ItemKind::bind}),
                Contains(HasSubstr("/usr/lib/gpuctr/distribution/lib32/libvulkan.so.580.1")));

    give("libvulkan.so.1", {}, libraries, true);
    EXPECT_THAT(reason_against("libvulkan"), HasSubstr("the image has its own"));
}

TEST_F(DistributionLoadersTest, StayOutOfAnImageThatOnlyHasALoaderOfThisCLibrary)
{
    root_.remove(libraries_ + "/libc.so.6");
    root_.file("/lib/ld-musl-x86_64.so.1");
    EXPECT_THAT(problem(), HasSubstr("its programs use musl"));

    request_.vendor_libs = VendorLibs::none;
    EXPECT_THAT(items({ItemKind::bind}), ElementsAre());
}

TEST_F(DistributionLoadersTest, ComeWithWhatNeedsThem)
{
    request_.capabilities = "compute";
    EXPECT_THAT(taken(), ElementsAre("libOpenCL"));
    EXPECT_THAT(reason_against("libEGL"), HasSubstr("belongs to graphics, which was not asked"));

    request_.capabilities = "graphics";
    EXPECT_THAT(taken(), ElementsAre("libGLdispatch", "libEGL", "libOpenGL"));

    request_.vendor_libs = VendorLibs::none;
    EXPECT_THAT(taken(), ElementsAre());
}

TEST_F(DistributionLoadersTest, StayOutTogetherIfTheImageHasOneOfThem)
{
    give("libOpenGL.so.0");

    EXPECT_THAT(taken(), ElementsAre("libOpenCL"));
    const std::string own = base::format("the image has its own: {}/libOpenGL.so.0", libraries_);
    for (const char* name : {"libEGL", "libGLdispatch", "libGLX", "libOpenGL"})
        EXPECT_THAT(reason_against(name), HasSubstr(own)) << name;
    EXPECT_THAT(items({ItemKind::cover}), Not(Contains(HasSubstr("libOpenGL"))));
}

TEST_F(DistributionLoadersTest, StayOutOfAnImageThatIsTooOldForOneOfThem)
{
    driver_.files[5].versions = {{"libc.so.6", "GLIBC_2.38"}};

    EXPECT_THAT(taken(), ElementsAre("libOpenCL"));
    EXPECT_THAT(reason_against("libGLdispatch"),
                HasSubstr(base::format("libEGL.so.1 needs GLIBC_2.38, but the image's {}/libc.so.6 "
                                       "has nothing newer than GLIBC_2.36",
                                       libraries_)));
    EXPECT_THAT(warnings(), ElementsAre());
}

TEST_F(DistributionLoadersTest, StayOutOfAnImageWhoseCLibraryTellsNothing)
{
    root_.file(libraries_ + "/libc.so.6", "no library");
    EXPECT_THAT(taken(), ElementsAre());
    EXPECT_THAT(reason_against("libOpenCL"), HasSubstr("the image's C library is not found"));

    const auto plan = create_plan({&driver_, 1}, request_, nullptr);
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Item& item : plan->items)
        EXPECT_THAT(item.target, Not(HasSubstr("libOpenCL")));
}

} // namespace
} // namespace gpucontainer::plan

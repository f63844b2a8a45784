// SPDX-License-Identifier: MIT
#include "apply/sources.hpp"

#include "support/mounting_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {

using model::FileId;
using model::VersionSource;

namespace {

constexpr const char* changed = ": no longer the file that was planned with";

class SourcesTest : public test::MountingTest {
protected:
    plan::Bind file(const char* path) const
    {
        const std::string source = root_.at(path);
        struct stat status = {};
        EXPECT_EQ(::stat(source.c_str(), &status), 0);
        return {source, FileId::of(status)};
    }

    std::string problem_with_file(const plan::Bind& file)
    {
        const auto clone = clone_file(bench_, file.source, file.id, file.is_directory);
        return clone ? "" : clone.error().message();
    }

    std::string problem_with_device(const std::string& path, unsigned major, unsigned minor)
    {
        const auto clone = clone_device(bench_, {path, major, minor});
        return clone ? "" : clone.error().message();
    }
};

TEST_F(SourcesTest, AreTheFilesThatWerePlannedWith)
{
    root_.file("library", "content");
    const plan::Bind planned = file("library");
    EXPECT_EQ(problem_with_file(planned), "");

    for (std::uint64_t FileId::*const part : {&FileId::device, &FileId::inode, &FileId::size}) {
        plan::Bind other = planned;
        ++(other.id.*part);
        EXPECT_EQ(problem_with_file(other), planned.source + changed);
    }
    plan::Bind older = planned;
    --older.id.mtime_ns;
    EXPECT_EQ(problem_with_file(older), planned.source + changed);
}

TEST_F(SourcesTest, AreOfTheKindThatWasPlanned)
{
    root_.file("library", "content");
    root_.directory("data");
    plan::Bind directory = file("data");
    directory.is_directory = true;
    EXPECT_EQ(problem_with_file(directory), "");

    plan::Bind no_directory = file("library");
    no_directory.is_directory = true;
    EXPECT_EQ(problem_with_file(no_directory), no_directory.source + changed);
    EXPECT_EQ(problem_with_file(file("data")), directory.source + changed);
}

TEST_F(SourcesTest, AreTheDevicesThatWerePlannedWith)
{
    EXPECT_EQ(problem_with_device("/dev/null", 1, 3), "");

    EXPECT_EQ(problem_with_device("/dev/null", 1, 5), std::string("/dev/null") + changed);
    EXPECT_EQ(problem_with_device("/dev/null", 195, 3), std::string("/dev/null") + changed);
    root_.file("node");
    EXPECT_EQ(problem_with_device(root_.at("node"), 0, 0), root_.at("node").string() + changed);
}

TEST_F(SourcesTest, AreWhatIsSharedByTheirOwners)
{
    using Kind = model::SharedPath::Kind;
    root_.directory("pipes");
    root_.file("settings");
    root_.link("link", "pipes");
    const auto problem = [&](const char* name, Kind kind, std::uint32_t uid) {
        const auto clone = clone_shared(bench_, {root_.at(name), kind, uid});
        return clone ? std::string() : clone.error().message();
    };
    const std::uint32_t mine = ::geteuid();

    EXPECT_EQ(problem("pipes", Kind::directory, mine), "");
    EXPECT_EQ(problem("settings", Kind::file, mine), "");
    EXPECT_EQ(problem("pipes", Kind::directory, mine + 1), root_.at("pipes").string() + changed);
    EXPECT_EQ(problem("pipes", Kind::socket, mine), root_.at("pipes").string() + changed);
    EXPECT_NE(problem("link", Kind::directory, mine), "");
}

TEST(Driver, HasToDriveGpusHere)
{
    plan::Plan plan;
    plan.drivers = {{"nvidia", "580.1", VersionSource::module, {}}};
    EXPECT_TRUE(require_driver(plan));

    plan.drivers[0].version_source = VersionSource::files;
    EXPECT_EQ(require_driver(plan).error().message(), "the nvidia kernel module is not loaded");

    plan.drivers[0].version_source = VersionSource::option;
    EXPECT_TRUE(require_driver(plan));
    plan.drivers[0].has_gpus = false;
    EXPECT_EQ(require_driver(plan).error().code(), Errc::no_device);
    EXPECT_EQ(require_driver(plan).error().message(),
              "no GPU of nvidia on this host, only its driver's files");
}

} // namespace
} // namespace gpucontainer::apply

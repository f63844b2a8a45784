// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer {
namespace {

namespace fs = std::filesystem;

/// A runtime that knows of a plan what the getters tell, and mounts with its own means. A real one
/// resolves the targets in the root.
class OwnRuntime {
public:
    explicit OwnRuntime(const test::ContainerRoot& root) : root_(root) {}

    void carry_out(const Item& item) const
    {
        const std::string target = root_.at(std::string(item.target()));
        const std::string source(item.source());
        if (item.place() == "tree")
            fs::create_directories(fs::path(target).parent_path());
        if (const auto content = item.content())
            write(target, *content, item.mode());
        else if (item.kind() == "symlink")
            fs::create_symlink(source, target);
        else if (item.kind() == "directory")
            make_directory(target, item.mode());
        else if (item.kind() == "mount")
            mount(source.c_str(), target, source.c_str(), 0);
        else
            bind(source, target, item);
    }

private:
    static void write(const std::string& path, std::string_view content, mode_t mode)
    {
        std::ofstream(path, std::ios::binary)
            .write(content.data(), static_cast<std::streamsize>(content.size()));
        EXPECT_EQ(::chmod(path.c_str(), mode), 0) << path;
    }

    static void make_directory(const std::string& path, mode_t mode)
    {
        EXPECT_EQ(::mkdir(path.c_str(), mode), 0) << path;
        EXPECT_EQ(::chmod(path.c_str(), mode), 0) << path;
    }

    static void mount(const char* source, const std::string& target, const char* type,
                      unsigned long flags)
    {
        const char* const options = flags == 0 ? "mode=0755" : nullptr;
        EXPECT_EQ(::mount(source, target.c_str(), type, flags, options), 0) << target;
    }

    static void bind(const std::string& source, const std::string& target, const Item& item)
    {
        struct stat status = {};
        ASSERT_EQ(::stat(source.c_str(), &status), 0) << source;
        if (item.kind() == "device") {
            EXPECT_EQ(status.st_rdev, makedev(item.major_number(), item.minor_number()));
        } else {
            EXPECT_EQ(item.identity().device, status.st_dev) << source;
            EXPECT_EQ(item.identity().inode, status.st_ino) << source;
            EXPECT_EQ(item.identity().size, static_cast<std::uint64_t>(status.st_size)) << source;
        }
        if (item.place() != "there")
            write(target, "", 0444);
        mount(source.c_str(), target, nullptr, MS_BIND);
    }

    const test::ContainerRoot& root_;
};

/// What programs in the container see of each file.
std::vector<std::string> seen_in(const test::ContainerRoot& root)
{
    std::vector<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(root.path())) {
        struct stat status = {};
        EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0) << entry.path();
        std::string line = entry.path().string().substr(root.path().size());
        line += " mode " + std::to_string(status.st_mode);
        if (S_ISLNK(status.st_mode))
            line += " to " + fs::read_symlink(entry.path()).string();
        if (S_ISCHR(status.st_mode))
            line += " device " + std::to_string(status.st_rdev);
        if (S_ISREG(status.st_mode))
            line += " size " + std::to_string(status.st_size);
        lines.push_back(std::move(line));
    }
    std::ranges::sort(lines);
    return lines;
}

std::string content_of(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ItemsTest, AreEnoughToApplyAPlanWithoutTheLibrary)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const std::string directory = "/tmp/gpuctr-items." + std::to_string(::getpid());
    const test::ContainerRoot applied(directory + "/applied");
    const test::ContainerRoot carried_out(directory + "/carried-out");
    const Host host;
    Request request;
    request.devices = "0,3";
    request.write = GPUCTR_WRITE_ALWAYS;
    ApplyOptions options;
    options.without_journal = true;

    Plan(host, request, applied.fd()).apply(applied.fd(), options);
    const Plan plan(host, request, carried_out.fd());
    const OwnRuntime runtime(carried_out);
    for (const Item item : plan.items())
        runtime.carry_out(item);

    EXPECT_EQ(seen_in(carried_out), seen_in(applied));
    for (const char* const name : {"/etc/ld.so.cache", "/etc/OpenCL/vendors/nvidia.icd"})
        EXPECT_EQ(content_of(carried_out.at(name)), content_of(applied.at(name))) << name;
    EXPECT_NE(content_of(applied.at("/etc/ld.so.cache")), "");
}

TEST(ItemsTest, TellWhichDevicesAreRequired)
{
    Request request;
    request.devices = "0";
    const Plan plan(Host(), request, -1);

    std::vector<std::string> required;
    for (const Item item : plan.items())
        if (item.required())
            required.emplace_back(item.target());

    EXPECT_THAT(required, testing::IsSupersetOf({"/dev/nvidia0", "/dev/nvidiactl"}));
    EXPECT_THAT(required, testing::Not(testing::Contains("/dev/nvidia-uvm-tools")));
}

} // namespace
} // namespace gpucontainer

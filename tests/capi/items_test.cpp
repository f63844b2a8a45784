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
    OwnRuntime(const test::ContainerRoot& root, std::string work)
        : root_(root), work_(std::move(work))
    {
        fs::create_directories(work_);
    }

    void carry_out(const Plan& plan)
    {
        // The names of an overlay exist before it is mounted.
        for (const Item item : plan.items())
            add_to_layer(item);
        for (const Item item : plan.items())
            carry_out(item);
    }

private:
    void add_to_layer(const Item& item)
    {
        if (item.kind() == "mount" && item.source() == "overlay") {
            make_directory(layer_of(item.target()), item.mode());
            overlays_.emplace_back(item.target());
        }
        if (item.place() != "overlay")
            return;
        for (const std::string& overlay : overlays_)
            if (item.target().starts_with(overlay + "/"))
                make_name(item,
                          layer_of(overlay) + std::string(item.target().substr(overlay.size())));
    }

    void carry_out(const Item& item) const
    {
        const std::string target = root_.at(std::string(item.target()));
        const bool is_name = item.kind() == "symlink" || item.kind() == "directory"
                             || (item.content() && item.place() != "there");
        if (item.place() == "tree")
            fs::create_directories(fs::path(target).parent_path());
        if (item.kind() == "mount")
            mount(item, target);
        else if (!is_name)
            bind(item, target);
        else if (item.place() != "overlay")
            make_name(item, target);
    }

    /// What an item makes, or something to mount it over.
    static void make_name(const Item& item, const std::string& path)
    {
        if (item.kind() == "symlink")
            fs::create_symlink(item.source(), path);
        else if (item.is_directory())
            make_directory(path, item.mode() != 0 ? item.mode() : 0755);
        else if (const auto content = item.content())
            write(path, *content, item.mode());
        else
            write(path, "", 0444);
    }

    /// Where the names of an overlay, or what covers something, is made.
    std::string layer_of(std::string_view target) const
    {
        std::string name(target);
        std::ranges::replace(name, '/', '-');
        return work_ + "/" + name;
    }

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

    void mount(const Item& item, const std::string& target) const
    {
        const std::string type(item.source());
        const std::string options =
            type == "overlay" ? "lowerdir=" + layer_of(item.target()) + ":" + target : "mode=0755";
        EXPECT_EQ(::mount(type.c_str(), target.c_str(), type.c_str(), 0, options.c_str()), 0)
            << target;
    }

    void bind(const Item& item, const std::string& target) const
    {
        std::string source(item.source());
        if (source.empty()) {
            source = layer_of(item.target());
            make_name(item, source);
        } else {
            check_source(item, source);
        }
        if (item.place() != "there" && item.place() != "overlay")
            make_name(item, target);
        EXPECT_EQ(::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr), 0) << target;
    }

    static void check_source(const Item& item, const std::string& source)
    {
        struct stat status = {};
        ASSERT_EQ(::stat(source.c_str(), &status), 0) << source;
        if (item.kind() == "device") {
            EXPECT_EQ(status.st_rdev, makedev(item.major_number(), item.minor_number()));
        } else {
            // The kernel's own files have none.
            if (item.place() == "cover")
                return;
            EXPECT_EQ(item.identity().device, status.st_dev) << source;
            EXPECT_EQ(item.identity().inode, status.st_ino) << source;
            EXPECT_EQ(item.identity().size, static_cast<std::uint64_t>(status.st_size)) << source;
        }
    }

    const test::ContainerRoot& root_;
    const std::string work_;
    std::vector<std::string> overlays_;
};

/// An image with something of each kind that is covered.
class Image : public test::ContainerRoot {
public:
    explicit Image(const std::string& directory) : ContainerRoot(directory)
    {
        fs::create_directories(at("/proc/driver/nvidia/capabilities"));
        for (const char* const name :
             {"/proc/driver/nvidia/params", "/usr/bin/nvidia-smi", "/dev/nvidiactl"})
            std::ofstream(at(name)) << "the image's own";
    }
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

void expect_own_runtime_to_do_the_same(std::uint32_t write, std::uint32_t layout)
{
    if (!test::may_mount())
        GTEST_SKIP() << "mounting is for root";
    const std::string directory = "/tmp/gpuctr-items." + std::to_string(::getpid());
    const Image applied(directory + "/applied");
    const Image carried_out(directory + "/carried-out");
    const Host host;
    Request request;
    request.devices = "0,3";
    request.write = write;
    request.layout = layout;
    ApplyOptions options;
    options.without_journal = true;

    Plan(host, request, applied.fd()).apply(applied.fd(), options);
    const Plan plan(host, request, carried_out.fd());
    OwnRuntime(carried_out, directory + "/work").carry_out(plan);

    EXPECT_EQ(seen_in(carried_out), seen_in(applied));
    for (const char* const name : {"/etc/ld.so.cache", "/etc/OpenCL/vendors/nvidia.icd",
                                   "/proc/driver/nvidia/params", "/usr/bin/nvidia-smi"})
        EXPECT_EQ(content_of(carried_out.at(name)), content_of(applied.at(name))) << name;
    EXPECT_NE(content_of(applied.at("/etc/ld.so.cache")), "");
    fs::remove_all(directory + "/work");
}

TEST(ItemsTest, AreEnoughToApplyAPlanWithoutTheLibrary)
{
    expect_own_runtime_to_do_the_same(GPUCTR_WRITE_ALWAYS, GPUCTR_LAYOUT_TREE);
}

TEST(ItemsTest, AreEnoughForOverlaysToo)
{
    expect_own_runtime_to_do_the_same(GPUCTR_WRITE_NEVER, GPUCTR_LAYOUT_TREE);
}

TEST(ItemsTest, AreEnoughForFilesAmongTheImagesOwn)
{
    expect_own_runtime_to_do_the_same(GPUCTR_WRITE_ALWAYS, GPUCTR_LAYOUT_MERGED);
    expect_own_runtime_to_do_the_same(GPUCTR_WRITE_NEVER, GPUCTR_LAYOUT_MERGED);
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

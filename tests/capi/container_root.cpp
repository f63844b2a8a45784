// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::test {
namespace {

std::string describe(const std::string& path)
{
    struct stat status = {};
    (void)::lstat(path.c_str(), &status);
    const auto size = S_ISDIR(status.st_mode) ? 0 : status.st_size;
    return fmt::format("{} mode {:o} inode {} links {} size {} mtime {}.{}", path, status.st_mode,
                       status.st_ino, status.st_nlink, size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

} // namespace

ContainerRoot::ContainerRoot(std::string directory) : path_(std::move(directory))
{
    std::filesystem::create_directories(path_);
    if (::mount("test", path_.c_str(), "tmpfs", 0, "mode=0755") != 0
        || ::mount(nullptr, path_.c_str(), nullptr, MS_PRIVATE, nullptr) != 0)
        throw std::runtime_error("cannot mount a tmpfs on " + path_);
    for (const char* name : {"/usr/lib/x86_64-linux-gnu", "/usr/bin", "/usr/local", "/usr/lib64",
                             "/etc/ld.so.conf.d", "/dev", "/proc", "/tmp"})
        std::filesystem::create_directories(at(name));
    std::filesystem::create_symlink("usr/lib64", at("/lib64"));
    std::filesystem::create_symlink("usr/lib", at("/lib"));
    for (const char* name : {"ld-linux-x86-64.so.2", "libc.so.6"})
        for (const char* from : {"/lib64/", "/lib/x86_64-linux-gnu/"})
            if (std::filesystem::exists(std::string(from) + name))
                std::filesystem::copy_file(std::string(from) + name,
                                           at(std::string("/usr") + from + name),
                                           std::filesystem::copy_options::skip_existing);
    std::ofstream(at("/etc/ld.so.conf")) << "include /etc/ld.so.conf.d/*.conf\n";
    fd_ = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

ContainerRoot::~ContainerRoot()
{
    (void)::close(fd_);
    while (::umount2(path_.c_str(), MNT_DETACH) == 0)
        continue;
    (void)::rmdir(path_.c_str());
}

std::vector<std::string> ContainerRoot::listing() const
{
    std::vector<std::string> lines = {describe(path_)};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
        lines.push_back(describe(entry.path()));
    std::sort(lines.begin(), lines.end());
    return lines;
}

bool may_mount()
{
    if (::geteuid() == 0)
        return true;
    const char* const ci = ::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true")
        throw std::runtime_error("these tests are for root");
    return false;
}

} // namespace gpucontainer::test

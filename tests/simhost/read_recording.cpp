// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "base/file.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t max_table = 64U << 20U;
constexpr std::size_t max_small_file = 4U << 20U;
constexpr std::size_t max_small_files = 50'000;
constexpr int max_depth = 32;

/// Content of a file that may be missing.
Result<std::string> read_optional(int dir_fd, const std::string& name, std::size_t limit)
{
    auto content = base::read_file(dir_fd, name, limit);
    if (!content && content.error().os_error() == ENOENT)
        return std::string();
    return content;
}

/// Collects the regular files below `path`, which is relative to `dir_fd`.
Result<void> read_tree(int dir_fd, const std::string& path, int depth, std::vector<TextFile>& files)
{
    if (depth > max_depth)
        return Error(Errc::usage, base::format("{}: nested too deep", path));
    GPUCTR_TRY(const auto names, base::list_directory(dir_fd, path));
    for (const std::string& name : names) {
        const std::string below = base::format("{}/{}", path, name);
        struct stat status = {};
        if (::fstatat(dir_fd, below.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return Error::from_errno(errno, below);
        if (S_ISDIR(status.st_mode)) {
            GPUCTR_CHECK(read_tree(dir_fd, below, depth + 1, files));
            continue;
        }
        if (files.size() == max_small_files)
            return Error(Errc::usage, base::format("{}: too many files", path));
        GPUCTR_TRY(auto content, base::read_file(dir_fd, below, max_small_file));
        files.push_back({"/" + below, std::move(content)});
    }
    return {};
}

Result<std::vector<TextFile>> read_optional_tree(int dir_fd, const std::string& name)
{
    std::vector<TextFile> files;
    if (::faccessat(dir_fd, name.c_str(), F_OK, 0) == 0)
        GPUCTR_CHECK(read_tree(dir_fd, name, 0, files));
    return files;
}

} // namespace

Result<Recording> read_recording(const std::string& directory)
{
    const base::UniqueFd folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder)
        return Error::from_errno(errno, directory);
    const int fd = folder.get();

    Recording host;
    host.directory = directory;
    GPUCTR_TRY(const auto files, base::read_file(fd, "files.tsv", max_table), "{}", directory);
    GPUCTR_TRY(host.files, parse_files(files), "{}/files.tsv", directory);
    GPUCTR_TRY(const auto nodes, read_optional(fd, "dev.txt", max_table), "{}", directory);
    GPUCTR_TRY(host.nodes, parse_nodes(nodes), "{}/dev.txt", directory);
    GPUCTR_TRY(const auto devices, read_optional(fd, "sys.umockdev", max_table), "{}", directory);
    GPUCTR_TRY(host.devices, parse_devices(devices), "{}/sys.umockdev", directory);
    GPUCTR_TRY(const auto conf, read_optional(fd, "ld.so.conf.txt", max_table), "{}", directory);
    GPUCTR_TRY(host.loader_conf, parse_loader_conf(conf), "{}/ld.so.conf.txt", directory);
    GPUCTR_TRY(host.loader_cache, read_optional(fd, "ld.so.cache", max_table), "{}", directory);
    GPUCTR_TRY(host.proc, read_optional_tree(fd, "proc"), "{}", directory);
    GPUCTR_TRY(host.sys, read_optional_tree(fd, "sys"), "{}", directory);
    return host;
}

} // namespace gpucontainer::simhost

// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "archive.hpp"
#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "stranger.hpp"

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

/// A link could lead to any file of the machine.
Result<std::string> read_below(int dir_fd, const std::string& name, std::size_t limit)
{
    const base::UniqueFd file(
        base::open_beneath(dir_fd, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (!file)
        return Error::from_errno(errno, name);
    return base::read_all(file.get(), limit);
}

/// Content of a file that may be missing.
Result<std::string> read_optional(int dir_fd, const std::string& name, std::size_t limit)
{
    auto content = read_below(dir_fd, name, limit);
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
        GPUCTR_TRY(auto content, read_below(dir_fd, below, max_small_file));
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

namespace {

/// The members of a folder or archive, by their names.
class Source {
public:
    virtual ~Source() = default;
    virtual Result<std::string> text(const std::string& name, std::size_t limit) const = 0;
    virtual Result<std::vector<TextFile>> tree(const std::string& name) const = 0;
};

class Folder final : public Source {
public:
    explicit Folder(int fd) : fd_(fd) {}
    Result<std::string> text(const std::string& name, std::size_t limit) const override
    {
        return read_optional(fd_, name, limit);
    }
    Result<std::vector<TextFile>> tree(const std::string& name) const override
    {
        return read_optional_tree(fd_, name);
    }

private:
    int fd_;
};

class Archived final : public Source {
public:
    explicit Archived(Members members) : members_(std::move(members)) {}
    Result<std::string> text(const std::string& name, std::size_t /*limit*/) const override
    {
        const auto member = members_.find(name);
        return member != members_.end() ? member->second : std::string();
    }
    Result<std::vector<TextFile>> tree(const std::string& name) const override
    {
        std::vector<TextFile> files;
        const std::string start = name + "/";
        for (auto at = members_.lower_bound(start);
             at != members_.end() && at->first.starts_with(start); ++at)
            files.push_back({"/" + at->first, at->second});
        return files;
    }

private:
    Members members_;
};

Result<Recording> read_from(const Source& source, const std::string& where)
{
    Recording host;
    GPUCTR_TRY(const auto files, source.text("files.tsv", max_table), "{}", where);
    GPUCTR_TRY(host.files, parse_files(files), "{}/files.tsv", where);
    GPUCTR_TRY(const auto nodes, source.text("dev.txt", max_table), "{}", where);
    GPUCTR_TRY(host.nodes, parse_nodes(nodes), "{}/dev.txt", where);
    GPUCTR_TRY(const auto devices, source.text("sys.umockdev", max_table), "{}", where);
    GPUCTR_TRY(host.devices, parse_devices(devices), "{}/sys.umockdev", where);
    GPUCTR_TRY(const auto conf, source.text("ld.so.conf.txt", max_table), "{}", where);
    GPUCTR_TRY(host.loader_conf, parse_loader_conf(conf), "{}/ld.so.conf.txt", where);
    GPUCTR_TRY(host.loader_cache, source.text("ld.so.cache", max_table), "{}", where);
    GPUCTR_TRY(host.proc, source.tree("proc"), "{}", where);
    GPUCTR_TRY(host.sys, source.tree("sys"), "{}", where);
    GPUCTR_TRY(auto contents, source.tree("content"), "{}", where);
    constexpr std::size_t content = sizeof("/content") - 1;
    for (TextFile& file : contents)
        host.contents.emplace(file.path.substr(content), std::move(file.content));
    return host;
}

/// Why a folder is none of a recorded host: reading it says so.
Result<void> require_table(int folder)
{
    GPUCTR_TRY(const auto table, read_below(folder, "files.tsv", max_table));
    (void)table;
    return {};
}

} // namespace

Result<Recording> read_recording(const std::string& path, Author author,
                                 std::vector<std::string>& left_out)
{
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status = {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, path);
    Recording host;
    if (S_ISDIR(status.st_mode)) {
        GPUCTR_CHECK(require_table(fd.get()), "{}", path);
        GPUCTR_TRY(host, read_from(Folder(fd.get()), path));
        host.directory = path;
    } else if (S_ISREG(status.st_mode)) {
        GPUCTR_TRY(const auto bytes, base::read_all(fd.get(), max_archive), "{}", path);
        GPUCTR_TRY(auto members, read_archive(bytes), "{}", path);
        GPUCTR_TRY(host, read_from(Archived(std::move(members)), path));
    } else {
        return Error(Errc::usage, path + ": neither a folder nor an archive");
    }
    if (author == Author::stranger)
        restrict_stranger(host, left_out);
    return host;
}

} // namespace gpucontainer::simhost

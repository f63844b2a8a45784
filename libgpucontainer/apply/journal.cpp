// SPDX-License-Identifier: MIT
#include "apply/journal.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using nlohmann::json;

constexpr const char* schema = "gpucontainer/journal/1";
constexpr std::size_t largest_journal = std::size_t{16} << 20U;

Error unusable(const std::string& directory)
{
    return Error::from_errno(errno, "journal directory " + directory, Errc::apply)
        .with_object(directory)
        .with_hint("name a directory that you may write with --state-dir");
}

json mark_to_json(const FileMark& mark)
{
    return json::array({mark.device, mark.inode, mark.size, mark.mtime_ns});
}

FileMark mark_from_json(const json& value)
{
    return {value.at(0), value.at(1), value.at(2), value.at(3)};
}

/// Content is needed to know our own again after a crash; that of the loader
/// cache is not kept, it is recognised by what it names.
json to_json(const Program& program, const Operation& operation)
{
    json value = {{"step", static_cast<std::uint32_t>(operation.step)},
                  {"flags", operation.flags},
                  {"path", program.text(operation.path)},
                  {"mode", operation.mode},
                  {"done", operation.done},
                  {"expected", mark_to_json(operation.expected)},
                  {"made", mark_to_json(operation.made)},
                  {"parent", {operation.parent_before, operation.parent_after}},
                  {"mount_id", operation.mount_id}};
    value["data"] = operation.step == Step::replace_file
                        ? std::string()
                        : std::string(program.text(operation.data), operation.data_size);
    return value;
}

void add_from_json(const json& value, ProgramBuilder& builder)
{
    const auto step = value.at("step").get<std::uint32_t>();
    const auto path = value.at("path").get<std::string>();
    if (step > last_step || !path.starts_with('/') || path.find('\0') != std::string::npos)
        throw std::invalid_argument("no such step");
    Operation& operation =
        builder.add(static_cast<Step>(step), path, value.at("data").get<std::string>());
    operation.flags = value.at("flags");
    operation.mode = value.at("mode");
    operation.done = value.at("done");
    operation.expected = mark_from_json(value.at("expected"));
    operation.made = mark_from_json(value.at("made"));
    operation.parent_before = value.at("parent").at(0);
    operation.parent_after = value.at("parent").at(1);
    operation.mount_id = value.at("mount_id");
}

std::string dump(const Journal& journal, const Program& program)
{
    json operations = json::array();
    for (const Operation& operation : program.operations())
        operations.push_back(to_json(program, operation));
    const json document = {{"schema", schema},
                           {"boot_id", journal.key.boot_id},
                           {"device", journal.key.device},
                           {"inode", journal.key.inode},
                           {"mount_namespace", journal.key.mount_namespace},
                           {"mount_id", journal.mount_id},
                           {"bound_on_itself", journal.bound_on_itself},
                           {"mounts_below", journal.mounts_below},
                           {"committed", journal.committed},
                           {"writes_root", journal.writes_root},
                           {"identity", journal.identity},
                           {"tree_path", journal.tree_path},
                           {"operations", std::move(operations)}};
    // Names in an image need not be UTF-8.
    return document.dump(-1, ' ', true, json::error_handler_t::replace);
}

Result<Journal> parse(const std::string& file, const std::string& text)
try {
    const json document = json::parse(text);
    if (document.at("schema") != schema)
        return Error(Errc::apply, "journal " + file + ": of another version");
    Journal journal;
    journal.file = file;
    journal.key = {document.at("device"), document.at("inode"), document.at("mount_namespace"),
                   document.at("boot_id")};
    journal.mount_id = document.at("mount_id");
    journal.bound_on_itself = document.at("bound_on_itself");
    journal.mounts_below = document.at("mounts_below");
    journal.committed = document.at("committed");
    journal.writes_root = document.at("writes_root");
    journal.identity = document.at("identity");
    journal.tree_path = document.at("tree_path");
    ProgramBuilder builder;
    for (const json& operation : document.at("operations"))
        add_from_json(operation, builder);
    journal.program = std::move(builder).build();
    return journal;
} catch (const std::exception& exception) {
    return Error(Errc::apply, "journal " + file + ": damaged: " + exception.what())
        .with_object(file)
        .with_hint("remove it once you have looked after what it stands for");
}

Result<void> make_directories(const std::string& directory)
{
    constexpr mode_t private_mode = 0700;
    for (std::size_t slash = directory.find('/', 1);; slash = directory.find('/', slash + 1)) {
        const std::string part = directory.substr(0, slash);
        if (::mkdir(part.c_str(), private_mode) != 0 && errno != EEXIST && errno != EROFS
            && errno != EACCES)
            return unusable(directory);
        if (slash == std::string::npos)
            return {};
    }
}

} // namespace

std::uint64_t mount_namespace_of(const std::string& path)
{
    // NS_GET_MNTNS_ID of linux/nsfs.h, which Debian 12 does not have.
    constexpr unsigned long get_mount_namespace_id = _IOR(0xb7, 0x5, std::uint64_t);
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t id = 0;
    if (fd && ::ioctl(fd.get(), get_mount_namespace_id, &id) == 0)
        return id;
    struct stat status = {};
    return fd && ::fstat(fd.get(), &status) == 0 ? status.st_ino : 0;
}

Result<RootKey> RootKey::of(int rootfs_fd)
{
    struct stat root = {};
    if (::fstat(rootfs_fd, &root) != 0)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);
    const std::uint64_t mounts = mount_namespace_of("/proc/self/ns/mnt");
    if (mounts == 0)
        return Error::from_errno(errno, "/proc/self/ns/mnt", Errc::apply)
            .with_hint("/proc must be mounted");
    GPUCTR_TRY(const std::string boot_id, base::read_file("/proc/sys/kernel/random/boot_id"));
    return RootKey{root.st_dev, root.st_ino, mounts, std::string(base::trim(boot_id))};
}

Result<JournalStore> JournalStore::open(const std::string& directory)
{
    GPUCTR_CHECK(make_directories(directory));
    base::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return unusable(directory);
    constexpr mode_t private_mode = 0600;
    base::UniqueFd lock(
        ::openat(fd.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, private_mode));
    if (!lock)
        return unusable(directory);
    int locked = -1;
    do
        locked = ::flock(lock.get(), LOCK_EX);
    while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return unusable(directory);
    return JournalStore(std::move(fd), std::move(lock));
}

Result<std::vector<Journal>> JournalStore::find(const RootKey& key) const
{
    const std::string prefix = fmt::format("{}-{}-", key.device, key.inode);
    GPUCTR_TRY(const auto names, base::list_directory(directory_.get(), "."), "journal directory");
    std::vector<Journal> found;
    for (const std::string& name : names) {
        if (!name.starts_with(prefix))
            continue;
        // Of a process that was cut off writing it: nobody else holds the lock.
        if (name.ends_with(".new"))
            (void)::unlinkat(directory_.get(), name.c_str(), 0);
        if (!name.ends_with(".json"))
            continue;
        GPUCTR_TRY(const std::string text, base::read_file(directory_.get(), name, largest_journal),
                   "journal");
        GPUCTR_TRY(Journal journal, parse(name, text));
        found.push_back(std::move(journal));
    }
    return found;
}

Result<void> JournalStore::write(Journal& journal, const Program& program) const
{
    journal.file = fmt::format("{}-{}-{}-{}.json", journal.key.device, journal.key.inode,
                               journal.key.mount_namespace, journal.mount_id);
    const std::string text = dump(journal, program);
    const std::string temporary = journal.file + ".new";
    (void)::unlinkat(directory_.get(), temporary.c_str(), 0);
    constexpr mode_t private_mode = 0600;
    const base::UniqueFd file(::openat(directory_.get(), temporary.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       private_mode));
    if (!file)
        return Error::from_errno(errno, "journal " + temporary, Errc::apply);
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t written = ::write(file.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return discard(temporary);
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::renameat(directory_.get(), temporary.c_str(), directory_.get(), journal.file.c_str())
        != 0)
        return discard(temporary);
    return {};
}

Error JournalStore::discard(const std::string& temporary) const
{
    Error error = Error::from_errno(errno, "journal " + temporary, Errc::apply);
    (void)::unlinkat(directory_.get(), temporary.c_str(), 0);
    return error;
}

Result<void> JournalStore::remove(const Journal& journal) const
{
    if (::unlinkat(directory_.get(), journal.file.c_str(), 0) != 0 && errno != ENOENT)
        return Error::from_errno(errno, "journal " + journal.file, Errc::apply);
    return {};
}

} // namespace gpucontainer::apply

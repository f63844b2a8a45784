// SPDX-License-Identifier: MIT
#include "plan/cdi_mounts.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "cdi/fields.hpp"
#include "mount/table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::FindingCode;
using model::SharedPath;
using rootfs::EntryType;

struct MountFlags {
    bool writable = true;
    bool executable = true;
    bool recursive = false;
};

/// Finds a mount below a directory.
class Submount final : public mount::MountVisitor {
public:
    explicit Submount(const std::string& directory) : directory_(directory) {}

    bool visit(const char* path) noexcept override
    {
        const std::string_view at = path;
        found = found || (at != directory_ && base::is_below(at, directory_));
        return true;
    }

    bool found = false;

private:
    const std::string& directory_;
};

/// Ours have none of the mounts below: what the specification asks for would be incomplete.
bool has_mounts(const std::string& directory)
{
    const base::UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    Submount below(directory);
    if (fd && mount::list_children(fd.get(), below) == mount::Listing::unavailable)
        (void)mount::read_children(fd.get(), below);
    return below.found;
}

/// Ours are nosuid, nodev and private in any case.
Result<MountFlags> flags_of(const cdi::Mount& mount)
{
    constexpr std::array<std::string_view, 8> what_ours_are = {
        "bind", "nosuid", "nodev", "private", "rprivate", "relatime", "exec", "rw"};
    if (!mount.type.empty() && mount.type != "none" && mount.type != "bind")
        return impossible(mount.place, base::format("a mount of type {}", cdi::shown(mount.type)));
    MountFlags flags;
    for (const std::string& option : mount.options)
        if (option == "ro")
            flags.writable = false;
        else if (option == "noexec")
            flags.executable = false;
        else if (option == "rbind")
            flags.recursive = true;
        else if (std::ranges::find(what_ours_are, option) == what_ours_are.end())
            return impossible(mount.place,
                              base::format("a mount with the option {}", cdi::shown(option)));
    return flags;
}

/// Where its links lead on this host.
Result<std::string> real_source(const cdi::Mount& mount)
{
    if (!mount.host_path.starts_with('/'))
        return not_here(mount.place,
                        base::format("{} is no absolute path", cdi::shown(mount.host_path)));
    char* const real = ::realpath(mount.host_path.c_str(), nullptr);
    if (real == nullptr)
        return not_here(mount.place, base::format("{}: {}", cdi::shown(mount.host_path),
                                                  ::strerrordesc_np(errno)));
    std::string path(real);
    std::free(real); // NOLINT(cppcoreguidelines-no-malloc): of realpath()
    return path;
}

Result<CdiMount> look_at_source(const cdi::Mount& mount)
{
    GPUCTR_TRY(const MountFlags flags, flags_of(mount));
    if (base::is_below(mount.container_path, "/proc")
        || base::is_below(mount.container_path, "/sys"))
        return impossible(mount.place, base::format("{}, which is among the kernel's own files",
                                                    cdi::shown(mount.container_path)));
    GPUCTR_TRY(std::string source, real_source(mount));
    struct stat status = {};
    if (::lstat(source.c_str(), &status) != 0)
        return not_here(mount.place,
                        base::format("{}: {}", cdi::shown(source), ::strerrordesc_np(errno)));
    const bool is_file = S_ISREG(status.st_mode);
    if (!is_file && !S_ISDIR(status.st_mode) && !S_ISSOCK(status.st_mode))
        return impossible(mount.place, base::format("a mount of {}, which is no file, directory or "
                                                    "socket",
                                                    cdi::shown(source)));
    if (source == "/")
        return impossible(mount.place, "a mount of the host's root directory");
    if (flags.recursive && S_ISDIR(status.st_mode) && has_mounts(source))
        return impossible(mount.place,
                          base::format("{} with the mounts below it (rbind)", cdi::shown(source)));
    CdiMount made = {&mount, {{}, mount.container_path, "a mount of the specification"}, {}};
    const model::FileId id = model::FileId::of(status);
    // What the host may write meanwhile has no constant size and time.
    if (is_file && !flags.writable && flags.executable) {
        made.item.what = Bind{source, id, false};
        made.identity = base::format("{}:{}:{}:{}", id.device, id.inode, id.size, id.mtime_ns);
        return made;
    }
    const auto kind = is_file                   ? SharedPath::Kind::file
                      : S_ISDIR(status.st_mode) ? SharedPath::Kind::directory
                                                : SharedPath::Kind::socket;
    made.item.what = Shared{source, kind, status.st_uid, flags.writable, flags.executable};
    made.identity = base::format("{}:{}", id.device, id.inode);
    return made;
}

bool covers_names(const Item& item) { return item.is_directory(); }

/// Another set-up left it, or it is what is wanted.
Error in_the_way(const CdiMount& mount, std::string_view why)
{
    return Error(Errc::rootfs, base::format("{}: {}: {}", mount.mount->place.text(),
                                            cdi::shown(mount.item.target), why))
        .with_object(mount.item.target)
        .with_hint("remove it from the image");
}

/// A file over a file that a name of the image leads to.
bool cover_file(Draft& draft, const Item& item, const std::string& target)
{
    const auto* const bind = item.as<Bind>();
    if (bind == nullptr || draft.view.resolve(target).type != EntryType::regular)
        return false;
    draft.add({Cover{bind->source, bind->id}, target, item.reason});
    return true;
}

} // namespace

Error impossible(const cdi::Place& place, std::string_view why)
{
    return Error(Errc::usage,
                 base::format("{}: a root file system is not given {}", place.text(), why))
        .with_object(place.file)
        .with_hint("give the device to a container by its config.json: --oci");
}

Error not_here(const cdi::Place& place, std::string_view why)
{
    return Error(Errc::driver, base::format("{}: {}", place.text(), why))
        .with_object(place.file)
        .with_hint("write the specification again");
}

void leave_out(Draft& draft, const cdi::Place& place, std::string why)
{
    draft.plan.findings.push_back(
        {FindingCode::cdi_left_out, place.text(), std::move(why), place.file});
}

Result<std::vector<CdiMount>> look_at_mounts(const cdi::Merged& merged)
{
    std::vector<CdiMount> mounts;
    for (const cdi::Mount& mount : merged.edits.mounts) {
        GPUCTR_TRY(CdiMount made, look_at_source(mount));
        if (const CdiMount* const around = mount_around(mounts, mount.container_path)) {
            // The kernel shows it there already, or nobody could make the name.
            const std::string inside =
                base::format("{}{}", around->item.source(),
                             mount.container_path.substr(around->item.target.size()));
            struct stat status = {};
            struct stat source = {};
            if (::lstat(inside.c_str(), &status) == 0
                && ::lstat(std::string(made.item.source()).c_str(), &source) == 0
                && status.st_dev == source.st_dev && status.st_ino == source.st_ino)
                continue;
            return impossible(mount.place, base::format("{} in {}, which is mounted from the host",
                                                        cdi::shown(mount.container_path),
                                                        cdi::shown(around->item.target)));
        }
        mounts.push_back(std::move(made));
    }
    return mounts;
}

const CdiMount* mount_around(const std::vector<CdiMount>& mounts, const std::string& path)
{
    const auto found = std::ranges::find_if(mounts, [&](const CdiMount& one) {
        return covers_names(one.item) && one.item.target != path
               && base::is_below(path, one.item.target);
    });
    return found == mounts.end() ? nullptr : &*found;
}

Result<void> add_mount(Draft& draft, const CdiMount& mount)
{
    const Item& item = mount.item;
    const std::string& path = item.target;
    draft.identify(
        base::format("{} {} {} {}", path, item.source(), item.options(), mount.identity));
    if (draft.is_missing(path)) {
        if (draft.is_in_hosts_devices(path))
            return Error(Errc::rootfs,
                         base::format("{}: {} is missing in /dev, which is the host's and is not "
                                      "changed",
                                      mount.mount->place.text(), cdi::shown(path)))
                .with_object(path)
                .with_hint("give the container a /dev of its own");
        if (!draft.can_have(path) && !draft.names.are_overlaid(path))
            return in_the_way(mount, "a name above it is no directory");
        // A read-only overlay for its name would cover a directory such as /run.
        if (item.as<Shared>() != nullptr && !covers_names(item) && draft.names.are_overlaid(path)) {
            leave_out(draft, mount.mount->place,
                      base::format("{} is left out: the image has no such name to mount it over, "
                                   "and is not written",
                                   cdi::shown(path)));
            return {};
        }
        draft.add_name(item);
        return {};
    }
    const EntryType there = draft.view.look(path).type;
    if (there == EntryType::link && cover_file(draft, item, path))
        return {};
    if (there == EntryType::link)
        return in_the_way(mount, "a link, which leads to nothing that it could be mounted over");
    if ((there == EntryType::directory) != covers_names(item))
        return in_the_way(mount, covers_names(item) ? "not a directory" : "a directory");
    draft.add(item);
    return {};
}

void add_link(Draft& draft, const cdi::Links::Link& link, const CdiMount* end)
{
    draft.identify(base::format("{} -> {}", link.path, link.to));
    if (draft.is_missing(link.path)) {
        if (draft.is_in_hosts_devices(link.path))
            return; // it is there, or is not wanted there
        if (draft.can_have(link.path) || draft.names.are_overlaid(link.path))
            draft.add_name({Symlink{link.to}, link.path, "a link of the specification"});
        else
            leave_out(
                draft, link.place,
                base::format("no link {}: a name above it is no directory", cdi::shown(link.path)));
        return;
    }
    if (draft.view.link_target(link.path) == link.to)
        return;
    if (end != nullptr && cover_file(draft, end->item, link.path))
        return;
    leave_out(
        draft, link.place,
        base::format("no link {}: the image has something else there", cdi::shown(link.path)));
}

} // namespace gpucontainer::plan

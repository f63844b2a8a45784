// SPDX-License-Identifier: MIT
#include "cdi/merged.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/fields.hpp"
#include "cdi/names.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace gpucontainer::cdi {
namespace {

constexpr const char* write_again = "write the specification again";

Error faulty(const Place& place, std::string_view why)
{
    return Error(Errc::usage, base::format("{}: {}", place.text(), why)).with_object(place.file);
}

Error untrue(const Place& place, std::string_view why)
{
    return Error(Errc::driver, base::format("{}: {}", place.text(), why))
        .with_object(place.file)
        .with_hint(write_again);
}

/// Engines take a path with ".." for one in the container's root; nothing good has it.
Result<std::string> path_of(const Place& place, const std::string& path)
{
    auto plain = plain_path(path);
    if (!plain || *plain == "/")
        return faulty(
            place, base::format("path {} is not absolute, has '..' or is the root", shown(path)));
    return *std::move(plain);
}

std::string_view name_of_variable(std::string_view variable)
{
    return variable.substr(0, variable.find('='));
}

void add_variable(std::vector<std::string>& env, const std::string& variable)
{
    const auto old = std::ranges::find(env, name_of_variable(variable), name_of_variable);
    if (old != env.end())
        *old = variable;
    else
        env.push_back(variable);
}

std::string type_of(mode_t mode)
{
    return S_ISCHR(mode) ? "c" : S_ISBLK(mode) ? "b" : S_ISFIFO(mode) ? "p" : "";
}

/// "u" is an old name for a character device.
std::string_view kind_of(std::string_view type) { return type == "u" ? "c" : type; }

bool is_number(std::optional<std::int64_t> number)
{
    return number.value_or(0) >= 0 && number.value_or(0) <= UINT32_MAX;
}

/// A number that changed since the specification was written, by a reboot, would be another device.
Result<void> complete_number(DeviceNode& node, dev_t number)
{
    const std::int64_t major = ::major(number);
    const std::int64_t minor = ::minor(number);
    if (node.major.value_or(0) != 0 && (node.major != major || node.minor.value_or(0) != minor))
        return untrue(node.place,
                      base::format("{} is device {}:{} of this host, and the specification says "
                                   "{}:{}",
                                   shown(node.host_path), major, minor, *node.major,
                                   node.minor.value_or(0)));
    node.major = major;
    node.minor = minor;
    return {};
}

/// Compares a node with the host's, and fills in what the specification leaves out.
Result<void> complete(DeviceNode& node)
{
    GPUCTR_TRY(node.path, path_of(node.place, node.path));
    if (node.host_path.empty())
        node.host_path = node.path;
    if (!is_number(node.major) || !is_number(node.minor))
        return faulty(node.place, "major or minor is no number of a device");
    const bool is_told = !node.type.empty() && (node.major.value_or(0) != 0 || node.type == "p");
    struct stat status = {};
    if (::lstat(node.host_path.c_str(), &status) != 0)
        return is_told ? Result<void>()
                       : untrue(node.place, base::format("{}: {}", shown(node.host_path),
                                                         ::strerrordesc_np(errno)));
    const std::string type = type_of(status.st_mode);
    if (type.empty())
        return untrue(node.place,
                      base::format("{} is {}", shown(node.host_path),
                                   S_ISLNK(status.st_mode) ? "a link, and no device node"
                                                           : "no device node"));
    if (!node.type.empty() && kind_of(node.type) != type)
        return untrue(node.place, base::format("{} is of type {}, and the specification says {}",
                                               shown(node.host_path), type, node.type));
    if (type != "p")
        GPUCTR_CHECK(complete_number(node, status.st_rdev));
    if (node.type.empty())
        node.type = type;
    constexpr mode_t permissions = 0777;
    if (!node.file_mode)
        node.file_mode = status.st_mode & permissions;
    return {};
}

Error unknown_hook(const Hook& hook)
{
    return Error(Errc::usage,
                 base::format("{}: the {} hook {} is not known, and no program of others is run",
                              hook.place.text(), hook.name, shown(hook.path)))
        .with_object(hook.place.file)
        .with_hint(
            "name a specification without it, such as `gpuctr-setup cdi generate` writes, or "
            "give the device to a container by its config.json with --oci --keep-hooks "
            "unknown: then the runtime runs it");
}

std::ptrdiff_t depth_of(const Mount& mount)
{
    return std::ranges::count(mount.container_path, '/');
}

/// What is behind a NUL in a path or variable would be lost.
bool is_cut_off(const std::string& text) { return text.find('\0') != std::string::npos; }

bool has_text_cut_off(const Edits& edits)
{
    using std::ranges::any_of;
    return any_of(edits.env, is_cut_off)
           || any_of(edits.nodes,
                     [](const DeviceNode& node) {
                         return is_cut_off(node.path) || is_cut_off(node.host_path);
                     })
           || any_of(edits.mounts,
                     [](const Mount& mount) {
                         return is_cut_off(mount.host_path) || is_cut_off(mount.container_path)
                                || any_of(mount.options, is_cut_off);
                     })
           || any_of(edits.hooks, [](const Hook& hook) {
                  return is_cut_off(hook.path) || any_of(hook.args, is_cut_off)
                         || any_of(hook.env, is_cut_off);
              });
}

/// Specifications in use have some dozens. Each is compared with all before it.
constexpr std::size_t most_edits = 4096;

class Merging {
public:
    Merging(KeptHooks kept, const TaskOf& task_of) : kept_(kept), task_of_(task_of) {}

    Result<void> add(const Edits& edits)
    {
        Edits& all = merged.edits;
        count_ += edits.env.size() + edits.nodes.size() + edits.net_devices.size()
                  + edits.mounts.size() + edits.hooks.size() + edits.additional_gids.size();
        if (has_text_cut_off(edits))
            return Error(Errc::usage, base::format("{}: a text with a NUL", edits.place.text()))
                .with_object(edits.place.file);
        if (count_ > most_edits)
            return Error(Errc::usage, base::format("{}: more than {} edits for one container",
                                                   edits.place.text(), most_edits))
                .with_object(edits.place.file);
        if (all.place.file.empty() || !edits.additional_gids.empty() || edits.rdt
            || !edits.net_devices.empty())
            all.place = edits.place;
        for (const std::string& variable : edits.env)
            add_variable(all.env, variable);
        for (DeviceNode node : edits.nodes) {
            GPUCTR_CHECK(complete(node));
            std::erase_if(all.nodes, [&](const DeviceNode& old) { return old.path == node.path; });
            all.nodes.push_back(std::move(node));
        }
        for (const NetDevice& device : edits.net_devices) {
            std::erase_if(all.net_devices,
                          [&](const NetDevice& old) { return old.host_name == device.host_name; });
            all.net_devices.push_back(device);
        }
        for (const Mount& mount : edits.mounts)
            GPUCTR_CHECK(add(mount));
        for (const Hook& hook : edits.hooks)
            GPUCTR_CHECK(add(hook));
        if (edits.rdt)
            all.rdt = edits.rdt;
        for (const std::uint32_t gid : edits.additional_gids)
            if (gid != 0
                && std::ranges::find(all.additional_gids, gid) == all.additional_gids.end())
                all.additional_gids.push_back(gid);
        return {};
    }

    Merged merged;

private:
    Result<void> add(Mount mount)
    {
        GPUCTR_TRY(mount.container_path, path_of(mount.place, mount.container_path));
        auto& all = merged.edits.mounts;
        std::erase_if(all,
                      [&](const Mount& old) { return old.container_path == mount.container_path; });
        all.push_back(std::move(mount));
        return {};
    }

    Result<void> add(const Hook& hook)
    {
        if (kept_ == KeptHooks::all) {
            merged.edits.hooks.push_back(hook);
            return {};
        }
        GPUCTR_TRY(auto task, task_of_(hook));
        if (task)
            merged.tasks.push_back({*std::move(task), hook.place});
        else if (kept_ == KeptHooks::unknown)
            merged.edits.hooks.push_back(hook);
        else
            return unknown_hook(hook);
        return {};
    }

    KeptHooks kept_;
    const TaskOf& task_of_;
    std::size_t count_ = 0;
};

} // namespace

Result<Merged> merge(const Chosen& chosen, KeptHooks kept, const TaskOf& task_of)
{
    Merging merging(kept, task_of);
    for (const Edits& edits : chosen.edits)
        GPUCTR_CHECK(merging.add(edits));
    std::ranges::stable_sort(merging.merged.edits.mounts, {}, depth_of);
    merging.merged.devices = chosen.devices;
    return std::move(merging.merged);
}

} // namespace gpucontainer::cdi

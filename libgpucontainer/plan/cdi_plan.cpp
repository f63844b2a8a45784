// SPDX-License-Identifier: MIT
#include "plan/cdi_plan.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/fields.hpp"
#include "elf/machine.hpp"
#include "plan/builder.hpp"
#include "plan/cdi_hooks.hpp"
#include "plan/cdi_mounts.hpp"
#include "plan/draft.hpp"
#include "plan/nodes.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::plan {
namespace {

class CdiPlan {
public:
    CdiPlan(const cdi::Merged& merged, const Request& request, const Target& target)
        : merged_(merged), draft_(request, &target, elf::own_machine()), links_(merged)
    {
        draft_.plan.layout = Layout::merged;
        draft_.secure_mounts();
    }

    Result<Plan> run()
    {
        GPUCTR_TRY(mounts_, look_at_mounts(merged_));
        for (const cdi::DeviceNode& node : merged_.edits.nodes)
            GPUCTR_CHECK(check(node));
        GPUCTR_CHECK(look_at_programs());
        libraries_ = cdi::libraries_of(merged_);
        wanted_links_ = links_.all();
        const auto by_soname = soname_links(merged_, libraries_);
        wanted_links_.insert(wanted_links_.end(), by_soname.begin(), by_soname.end());
        GPUCTR_CHECK(look_for_collisions());
        GPUCTR_CHECK(draft_.names.expect(missing_paths(), draft_.plan.items));
        for (const CdiMount& mount : mounts_)
            GPUCTR_CHECK(add_mount(draft_, mount));
        for (const cdi::DeviceNode& node : merged_.edits.nodes)
            GPUCTR_CHECK(add(node));
        for (const cdi::Links::Link& link : wanted_links_)
            add(link);
        GPUCTR_CHECK(add_cdi_cache(draft_, merged_, libraries_));
        GPUCTR_CHECK(add_cdi_tasks(draft_, merged_));
        add_rest();
        name_devices();
        return std::move(draft_.plan);
    }

private:
    /// Without programs of this machine, a root still gets files and nodes.
    Result<void> look_at_programs()
    {
        auto looked = draft_.look_at_image();
        if (!looked && looked.error().os_error() != 0)
            return std::move(looked).error();
        return {};
    }

    /// Of what would be made at the same place, or in what is the host's, one could not be.
    Result<void> look_for_collisions()
    {
        for (const std::string& path : cdi_hook_paths(draft_, merged_))
            GPUCTR_CHECK(look_for_edits_at(path));
        for (const CdiMount& mount : mounts_)
            GPUCTR_CHECK(look_for_links_into_mounts(mount.mount->place, mount.item.target));
        for (const cdi::DeviceNode& node : merged_.edits.nodes)
            GPUCTR_CHECK(look_for_links_into_mounts(node.place, node.path));
        for (const cdi::Links::Link& link : wanted_links_)
            if (is_below_another(link))
                return impossible(link.place, base::format("a link at {}, below another link",
                                                           cdi::shown(link.path)));
        return {};
    }

    bool is_below_another(const cdi::Links::Link& link) const
    {
        return std::ranges::any_of(wanted_links_, [&](const cdi::Links::Link& other) {
            return link.path != other.path && base::is_below(link.path, other.path);
        });
    }

    /// What hooks are for is made at that path.
    Result<void> look_for_edits_at(const std::string& path)
    {
        for (const CdiMount& mount : mounts_)
            if (base::is_below(path, mount.item.target))
                return impossible(mount.mount->place,
                                  base::format("a mount at {}, because {} is made for its hooks",
                                               cdi::shown(mount.item.target), path));
        for (const cdi::DeviceNode& node : merged_.edits.nodes)
            if (node.path == path)
                return impossible(node.place,
                                  base::format("a node at {}, which is made for its hooks", path));
        return {};
    }

    /// By a link of the image, a path may be in a directory that is mounted from the host.
    Result<void> look_for_links_into_mounts(const cdi::Place& place, const std::string& path)
    {
        for (const CdiMount& mount : mounts_) {
            const std::string& target = mount.item.target;
            if (!mount.item.is_directory() || base::is_below(path, target))
                continue;
            const rootfs::Entry covered = draft_.view.resolve(target);
            for (auto above = base::directory_of(path); above.size() > 1;
                 above = base::directory_of(above))
                if (draft_.view.resolve(std::string(above)).same_file(covered))
                    return impossible(place,
                                      base::format("{} in {}, where a link of the image leads",
                                                   cdi::shown(path), cdi::shown(target)));
        }
        return {};
    }

    std::vector<std::string> missing_paths()
    {
        std::vector<std::string> paths = cdi_hook_paths(draft_, merged_);
        for (const CdiMount& mount : mounts_)
            if (mount.item.as<Shared>() == nullptr || mount.item.is_directory())
                paths.push_back(mount.item.target);
        for (const cdi::DeviceNode& node : merged_.edits.nodes)
            paths.push_back(node.path);
        for (const cdi::Links::Link& link : wanted_links_)
            if (mount_around(mounts_, link.path) == nullptr)
                paths.push_back(link.path);
        std::erase_if(paths, [&](const std::string& path) { return !draft_.is_missing(path); });
        return paths;
    }

    /// Nothing but the host's own node is given, with its mode and owner.
    Result<void> check(const cdi::DeviceNode& node)
    {
        if (node.type != "c" && node.type != "u")
            return impossible(node.place, base::format("{}, a node of type {}",
                                                       cdi::shown(node.path), node.type));
        if (base::is_below(node.path, "/proc") || base::is_below(node.path, "/sys")
            || mount_around(mounts_, node.path) != nullptr)
            return impossible(node.place, base::format("a node at {}", cdi::shown(node.path)));
        const std::string& asked = node.permissions;
        const bool all = asked.empty()
                         || (asked != "none" && asked.find('r') != std::string::npos
                             && asked.find('w') != std::string::npos);
        if (!all)
            return impossible(node.place, base::format("{} with the permissions {} alone",
                                                       cdi::shown(node.path), cdi::shown(asked)));
        struct stat status = {};
        if (::lstat(node.host_path.c_str(), &status) != 0)
            return not_here(node.place, base::format("{}: {}", cdi::shown(node.host_path),
                                                     ::strerrordesc_np(errno)));
        constexpr mode_t permissions = 0777;
        if ((node.file_mode.value_or(status.st_mode) & permissions)
                != (status.st_mode & permissions)
            || node.uid.value_or(status.st_uid) != status.st_uid
            || node.gid.value_or(status.st_gid) != status.st_gid)
            leave_out(
                draft_, node.place,
                base::format("{} keeps the mode {:04o} and the owner {}:{} that it has on the "
                             "host",
                             cdi::shown(node.path), status.st_mode & permissions, status.st_uid,
                             status.st_gid));
        return {};
    }

    Result<void> add(const cdi::DeviceNode& node)
    {
        Device device;
        device.source = node.host_path;
        device.major = static_cast<std::uint32_t>(node.major.value_or(0));
        device.minor = static_cast<std::uint32_t>(node.minor.value_or(0));
        draft_.identify(
            base::format("{} {} {}:{}", node.path, device.source, device.major, device.minor));
        if (std::string obstacle = obstacle_in_image(draft_, node.path); !obstacle.empty())
            return Error(Errc::rootfs, base::format("{}: {}", node.place.text(), obstacle))
                .with_object(node.path)
                .with_hint(draft_.is_in_hosts_devices(node.path)
                               ? "make it on the host, or give the container a /dev of its own"
                               : "remove it from the image");
        Item item = {std::move(device), node.path, "a device of the specification"};
        if (draft_.is_missing(node.path))
            draft_.add_name(std::move(item));
        else
            draft_.add(std::move(item));
        return {};
    }

    void add(const cdi::Links::Link& link)
    {
        if (mount_around(mounts_, link.path) != nullptr || base::is_below(link.path, "/proc")
            || base::is_below(link.path, "/sys")) {
            leave_out(draft_, link.place,
                      base::format("no link {}: it would be among files that are not the image's",
                                   cdi::shown(link.path)));
            return;
        }
        const auto end = links_.end_of(link.path);
        std::string path = end.value_or("");
        if (path == link.path) // by its soname
            path = base::format("{}/{}", base::directory_of(link.path), link.to);
        const auto found = std::ranges::find_if(
            mounts_, [&](const CdiMount& mount) { return mount.item.target == path; });
        add_link(draft_, link, found == mounts_.end() ? nullptr : &*found);
    }

    /// What mounts and names cannot give.
    void add_rest()
    {
        const cdi::Edits& edits = merged_.edits;
        for (const std::string& text : edits.env) {
            const auto equals = text.find('=');
            const Variable variable = {"set", text.substr(0, equals), text.substr(equals + 1), ""};
            draft_.plan.variables.push_back(variable);
            draft_.add({variable, variable.name,
                        "what the container's processes find in their environment"});
            draft_.identify(text);
        }
        draft_.plan.groups = edits.additional_gids;
        for (const std::uint32_t gid : edits.additional_gids)
            leave_out(draft_, edits.place,
                      base::format("processes of the container are to have the group {}, unless "
                                   "they are root",
                                   gid));
        for (const cdi::NetDevice& device : edits.net_devices)
            leave_out(
                draft_, edits.place,
                base::format("the network device {} is not moved: a root file system has none",
                             cdi::shown(device.host_name)));
        if (edits.rdt)
            leave_out(draft_, edits.place,
                      "intelRdt is not set: it is of processes, and not of a root file system");
    }

    /// The devices of each kind, as `status` shows them.
    void name_devices()
    {
        std::map<std::string, UsedDriver> kinds;
        for (const std::string& name : merged_.devices) {
            const auto equals = name.find('=');
            UsedDriver& kind = kinds[name.substr(0, equals)];
            kind.vendor = name.substr(0, equals);
            model::Gpu gpu;
            gpu.index = static_cast<unsigned>(kind.gpus.size());
            gpu.uuid = name.substr(equals + 1);
            kind.gpus.push_back(std::move(gpu));
            draft_.identify(name);
        }
        for (auto& [name, kind] : kinds)
            draft_.plan.drivers.push_back(std::move(kind));
    }

    const cdi::Merged& merged_;
    Draft draft_;
    cdi::Links links_;
    std::vector<CdiMount> mounts_;
    std::vector<cdi::FoundLibrary> libraries_;
    std::vector<cdi::Links::Link> wanted_links_;
};

} // namespace

Result<Plan> create_cdi_plan(const cdi::Merged& merged, const Request& request,
                             const Target& target)
{
    GPUCTR_CHECK(require_other_root(request, &target));
    return CdiPlan(merged, request, target).run();
}

} // namespace gpucontainer::plan

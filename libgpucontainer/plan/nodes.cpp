// SPDX-License-Identifier: MIT
#include "plan/nodes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "plan/extras.hpp"
#include "plan/obstacles.hpp"

#include <algorithm>
#include <filesystem>

namespace gpucontainer::plan {

using model::Mask;

namespace {

using model::DeviceNode;
using model::SharedPath;
using rootfs::EntryType;

void add_group(Draft& draft, const DeviceNode& node)
{
    constexpr std::uint32_t others = 0006;
    auto& groups = draft.plan.groups;
    const bool by_group = (node.mode & others) != others && node.gid != 0;
    if (by_group && std::find(groups.begin(), groups.end(), node.gid) == groups.end())
        groups.push_back(node.gid);
}

/// A link as on the host. Programs that list directories would count a second node as a second GPU.
void add_link(Draft& draft, const DeviceNode& node, const std::string& link, const Owner& owner)
{
    namespace fs = std::filesystem;
    draft.identify(link);
    if (draft.is_for_any_image())
        return; // mounts alone make no links
    if (draft.is_missing(link) && !draft.is_in_hosts_devices(link))
        draft.add_name(
            {Symlink{fs::path(node.path).lexically_relative(fs::path(link).parent_path())}, link,
             "another name of " + node.path, owner});
}

/// Several vendors' GPUs may share a device.
bool is_added(const Draft& draft, const DeviceNode& node)
{
    return std::ranges::any_of(draft.plan.items, [&](const Item& item) {
        return item.as<Device>() != nullptr && item.target == node.path;
    });
}

void add_node(Draft& draft, const Share& share, const DeviceNode& node)
{
    if (is_added(draft, node))
        return;
    const Owner owner = {share.driver.vendor, node.gpu};
    const Device device = {node.makeable ? std::string() : node.host_path,
                           node.major,
                           node.minor,
                           node.required,
                           node.makeable ? node.mode : 0,
                           node.uid,
                           node.gid};
    Item item = {device, node.path,
                 node.gpu < 0 ? "the driver's programs open it"
                              : "GPU " + share.driver.gpus[static_cast<unsigned>(node.gpu)].label(),
                 owner};
    draft.identify(base::format("{} {}:{}", node.path, node.major, node.minor));
    if (draft.is_missing(node.path))
        draft.add_name(std::move(item));
    else
        draft.add(std::move(item));
    for (const std::string& link : node.links)
        add_link(draft, node, link, owner);
    add_group(draft, node);
}

/// The option that named the GPUs, for messages.
std::string choice_of(const Draft& draft)
{
    return base::format("{} {}", draft.request.devices_name, draft.request.devices);
}

Result<void> leave_out(Draft& draft, const Share& share, const DeviceNode& node)
{
    if (node.required && is_for_all(node))
        return forbidden_node(share.driver, node);
    if (node.required && node.gpu >= 0 && share.selection.explicitly)
        return forbidden_node(share.driver, node).context(choice_of(draft));
    draft.skip(model::FindingCode::node_inaccessible, std::string(base::name_of(node.path)),
               "may not be used: " + share.driver.obstacle_to(node), node.host_path);
    return {};
}

Result<void> require_existing(const Draft& draft, const Share& share)
{
    for (const DeviceNode& node : share.driver.missing_nodes)
        if ((node.required || !node.problem.empty())
            && share.needs(node, draft.capabilities, draft.extras) && !share.selection.gpus.empty())
            return node.gpu >= 0 && share.selection.explicitly
                       ? missing_node(share.driver, node).context(choice_of(draft))
                       : missing_node(share.driver, node);
    return {};
}

Result<void> add_nodes(Draft& draft, const Share& share)
{
    GPUCTR_CHECK(require_existing(draft, share));
    const bool automatically = !share.selection.explicitly;
    for (const DeviceNode& node : share.driver.nodes) {
        // A GPU that may not be used is left out, unless somebody chose it.
        const bool is_no_choice = automatically && node.gpu >= 0 && !node.accessible;
        if (!share.needs(node, draft.capabilities, draft.extras) && !is_no_choice)
            continue;
        if (!node.accessible) {
            GPUCTR_CHECK(leave_out(draft, share, node));
            continue;
        }
        std::string obstacle = obstacle_in_image(draft, node.path);
        if (obstacle.empty())
            add_node(draft, share, node);
        else if (node.required)
            return Error(Errc::rootfs, std::move(obstacle))
                .with_object(node.path)
                .with_hint(draft.is_in_hosts_devices(node.path)
                               ? "make it on the host, or give the container a /dev of its own"
                               : "remove it from the image");
        else
            draft.skip(model::FindingCode::node_inaccessible, std::string(base::name_of(node.path)),
                       std::move(obstacle), node.path);
    }
    return {};
}

bool is_shown(const Draft& draft, const Share& share, const model::Shown& shown)
{
    if (!shown.extra.empty())
        return has_extra(draft.extras, shown.extra);
    return shown.gpu < 0
           || std::ranges::find(share.selection.gpus, static_cast<unsigned>(shown.gpu))
                  != share.selection.gpus.end();
}

/// Whether the mask hides something, or programs can make what it prevents. If nobody can make
/// nodes, that is the directory for the nodes of capabilities, which remains in a root that is
/// written.
bool has_use(const Draft& draft, const Share& share, const Mask& mask)
{
    if (!mask.against_nodes)
        return !std::ranges::all_of(
            mask.shown, [&](const auto& shown) { return is_shown(draft, share, shown); });
    return draft.target->may_make_nodes || (mask.directory && draft.plan.writes_root);
}

void need_instead_of(const Mask& mask, Draft& draft)
{
    constexpr std::string_view when = "if root runs in the container: its programs can make";
    draft.need(
        mask.directory
            ? base::format("{} masked, {} more of the driver's nodes from it", mask.path, when)
            : base::format("a device cgroup, {} the nodes of other GPUs, as nothing covers {}",
                           when, mask.path));
}

/// Several parts of a GPU share its entries.
bool is_added(const Draft& draft, const std::string& target)
{
    return std::ranges::any_of(draft.plan.items,
                               [&](const Item& item) { return item.target == target; });
}

void add_shown(Draft& draft, const Share& share, const Mask& mask, const model::Shown& shown)
{
    const std::string path = base::format("{}/{}", mask.path, shown.name);
    if (!is_shown(draft, share, shown) || is_added(draft, path))
        return;
    draft.identify("shown " + path);
    draft.add({KernelEntry{path, shown.directory},
               path,
               shown.gpu < 0 ? "the driver's programs read it"
                             : "GPU " + share.driver.gpus[static_cast<unsigned>(shown.gpu)].label(),
               {share.driver.vendor, shown.gpu},
               Place::cover});
}

void add_mask(Draft& draft, const Share& share, const Mask& mask)
{
    const EntryType wanted = mask.directory ? EntryType::directory : EntryType::regular;
    if (draft.view.resolve(mask.path).type != wanted) {
        if (draft.target->may_make_nodes && mask.against_nodes)
            need_instead_of(mask, draft);
        return;
    }
    if (!has_use(draft, share, mask))
        return;
    draft.identify("mask " + mask.path);
    draft.add({GeneratedCover{mask.content, mask.directory},
               mask.path,
               mask.reason,
               {share.driver.vendor}});
    for (const model::Shown& shown : mask.shown)
        add_shown(draft, share, mask, shown);
}

/// Whether the image has something at a path that it cannot be mounted over.
bool has_other(const Draft& draft, const SharedPath& shared)
{
    const bool wants_directory = shared.kind == SharedPath::Kind::directory;
    const EntryType type = draft.view.look(shared.path).type;
    return type == EntryType::link || (type == EntryType::directory) != wants_directory;
}

/// A socket or directory of the host, which is at `source` there. An overlay for its name would
/// take the image's directory the right to be written, such as /run and /tmp. False if it is left
/// out.
bool add_shared(Draft& draft, const Share& share, const SharedPath& shared,
                const std::string& source)
{
    const auto leave_out = [&](std::string why) {
        draft.skip(model::FindingCode::file_left_out, shared.path, std::move(why), shared.path);
    };
    if (!shared.accessible)
        return false;
    const bool missing = draft.is_missing(shared.path);
    if (missing && draft.names.are_overlaid(shared.path)) {
        leave_out("the image has no such name to mount it over, and is not written");
        return false;
    }
    if (!missing && has_other(draft, shared)) {
        leave_out("the image has something else there");
        return false;
    }
    draft.identify(base::format("shared {} {}", shared.path, source));
    Item item = {
        Shared{source, shared.kind, shared.uid}, shared.path, shared.reason, {share.driver.vendor}};
    if (missing)
        draft.add_name(std::move(item));
    else
        draft.add(std::move(item));
    return true;
}

const NamedPath* named_for(const Draft& draft, const Share& share)
{
    const auto& all = draft.request.directories;
    const auto found = std::ranges::find(all, share.driver.vendor, &NamedPath::vendor);
    return found != all.end() ? &*found : nullptr;
}

/// The variable named a path of the host. Without it, programs look at the usual place.
void add_named(Draft& draft, const Share& share, const NamedPath& named)
{
    const drivers::NamedDirectory& usual =
        *drivers::find_vendor(share.driver.vendor)->named_directory;
    const SharedPath shared = {std::string(usual.place),
                               SharedPath::Kind::directory,
                               usual.capability,
                               std::string(usual.extra),
                               named.uid,
                               true,
                               std::string(usual.reason)};
    if (!is_shared(shared, draft.capabilities, draft.extras))
        return;
    if (!named.problem.empty())
        draft.skip(model::FindingCode::variable_ignored,
                   base::format("{}={}", usual.variable, named.path), named.problem, named.path);
    else if (add_shared(draft, share, shared, named.path))
        draft.plan.variables.push_back(
            {"unset", std::string(usual.variable), "", share.driver.vendor});
}

/// Whether a variable names another directory in place of it.
bool is_named_elsewhere(const NamedPath* named, const SharedPath& shared)
{
    return named != nullptr
           && drivers::find_vendor(named->vendor)->named_directory->extra == shared.extra;
}

} // namespace

std::string obstacle_in_image(Draft& draft, const std::string& path)
{
    if (draft.is_missing(path) && draft.is_in_hosts_devices(path))
        return base::format("{} is missing, and {} is the host's, which is not changed", path,
                            base::directory_of(path));
    if (draft.is_missing(path))
        return draft.can_have(path) || draft.names.are_overlaid(path)
                   ? ""
                   : base::format("{} is in the way: not a directory", base::directory_of(path));
    return draft.view.resolve(path).type == EntryType::directory
               ? base::format("{} is in the way: a directory", path)
               : "";
}

Result<void> add_nodes(Draft& draft)
{
    for (const Share& share : draft.shares)
        GPUCTR_CHECK(add_nodes(draft, share));
    return {};
}

void add_shared_paths(Draft& draft)
{
    for (const Share& share : draft.shares) {
        if (share.selection.gpus.empty())
            continue;
        const NamedPath* const named = named_for(draft, share);
        for (const SharedPath& shared : share.driver.shared_paths)
            if (is_shared(shared, draft.capabilities, draft.extras)
                && !is_named_elsewhere(named, shared))
                (void)add_shared(draft, share, shared, shared.path);
        if (named != nullptr)
            add_named(draft, share, *named);
    }
}

void add_masks(Draft& draft)
{
    if (draft.target == nullptr)
        return;
    for (const Share& share : draft.shares)
        for (const Mask& mask : share.driver.masks)
            add_mask(draft, share, mask);
}

} // namespace gpucontainer::plan

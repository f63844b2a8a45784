// SPDX-License-Identifier: MIT
#include "export/cdi.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/names.hpp"
#include "cdi/version.hpp"
#include "export/mounts.hpp"
#include "export/staged.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpucontainer::exports {
namespace {

using model::DriverStack;
using model::Gpu;
using plan::Item;

using Indexes = std::set<unsigned>;

/// A name in the form that devices can have: "2/5" as "2:5". "" if it has none.
std::string device_name(std::string_view word)
{
    std::string name(word);
    std::ranges::replace(name, '/', ':');
    return cdi::fault_in_device_name(name).empty() ? name : "";
}

/// The words that name a GPU: what a user types first.
std::vector<std::string> words_of(const Gpu& gpu)
{
    std::vector<std::string> words = {gpu.label()};
    words.insert(words.end(), gpu.names.begin(), gpu.names.end());
    words.push_back(gpu.uuid);
    words.push_back(gpu.pci_address);
    std::erase(words, "");
    return words;
}

struct NamedGpus {
    std::string name;
    Indexes gpus;
};

/// All devices, each name once. A word that also names a GPU that is not among the plan's is no
/// device.
std::vector<NamedGpus> devices_of(const DriverStack& driver, const Indexes& chosen)
{
    std::vector<NamedGpus> devices;
    std::set<std::string> known = {"all"};
    for (const unsigned index : chosen)
        for (const std::string& word : words_of(driver.gpus[index])) {
            const std::string name = device_name(word);
            const auto found = plan::find_gpus(driver, word);
            if (name.empty() || !found || !std::ranges::includes(chosen, *found)
                || !known.insert(name).second)
                continue;
            devices.push_back({name, Indexes(found->begin(), found->end())});
        }
    devices.push_back({"all", chosen});
    return devices;
}

/// Turns the items of a plan into edits.
class Edits {
public:
    Edits(const std::vector<Item>& items, std::string directory)
        : files_directory_(std::move(directory))
    {
        for (const Item& item : items)
            add(item);
    }

    cdi::Edits common;
    std::vector<cdi::HostFile> files;

    /// The edits for some GPUs; those for all if these have none of their own, because a device
    /// without edits is not valid.
    cdi::Edits of(const Indexes& gpus) const
    {
        cdi::Edits edits;
        for (const auto& [gpu, node] : nodes_)
            if (gpus.contains(gpu))
                edits.nodes.push_back(node);
        if (edits.nodes.empty())
            edits.nodes = common.nodes;
        return edits;
    }

    /// The hook does what mounts would.
    void leave_to(cdi::Hook hook)
    {
        common.mounts.clear();
        files.clear();
        common.hooks.push_back(std::move(hook));
    }

private:
    void add(const Item& item)
    {
        if (item.as<plan::Device>() != nullptr)
            add_node(item);
        else if (auto given = mount_of(item, files_directory_)) {
            common.mounts.push_back(std::move(given->mount));
            if (given->file)
                files.push_back(*std::move(given->file));
        }
    }

    void add_node(const Item& item)
    {
        cdi::DeviceNode node = {item.target};
        if (item.source() != item.target)
            node.host_path = item.source();
        node.permissions = "rw";
        if (item.owner.gpu < 0)
            common.nodes.push_back(std::move(node));
        else
            nodes_.emplace_back(static_cast<unsigned>(item.owner.gpu), std::move(node));
    }

    std::string files_directory_;
    std::vector<std::pair<unsigned, cdi::DeviceNode>> nodes_; ///< Each with its GPU.
};

/// Directories before what is in them, and the same order each time.
void sort(std::vector<cdi::Mount>& mounts)
{
    std::ranges::stable_sort(mounts, {}, &cdi::Mount::container_path);
}

/// JSON has no other text: a path would become that of another file.
Result<void> require_utf8(const std::vector<cdi::Mount>& mounts)
{
    for (const cdi::Mount& mount : mounts)
        for (const std::string& path : {mount.host_path, mount.container_path})
            if (!base::is_utf8(path))
                return Error(Errc::usage, base::format("CDI: {}: its name is not UTF-8", path))
                    .with_object(path)
                    .with_hint("rename the file, or leave it out by a catalogue");
    return {};
}

/// It runs in the container's mount namespace, before the root is changed. Engines may give it
/// their own environment, of which the loader reads some variables.
cdi::Hook hook_of(const std::vector<std::string>& words)
{
    cdi::Hook hook = {"createContainer", words.front()};
    hook.args = words;
    hook.env = {"PATH=/usr/bin:/bin"};
    return hook;
}

Result<const DriverStack*> only_driver(const plan::Planned& planned)
{
    const auto& used = planned.plan.drivers;
    if (planned.plan.layout != plan::Layout::binds)
        return Error(Errc::usage, "CDI: the plan is not for images that are not known")
            .with_hint("a plan with layout binds is");
    if (used.size() != 1)
        return Error(Errc::usage, base::format("CDI: a specification is for one vendor, and the "
                                               "plan has GPUs of {}",
                                               used.size()))
            .with_argument("plan");
    const auto driver =
        std::ranges::find(*planned.drivers, used.front().vendor, &DriverStack::vendor);
    if (driver == planned.drivers->end())
        return Error(Errc::internal, "CDI: the plan's driver is not the host's");
    if (const std::string fault = cdi::fault_in_kind(driver->cdi_kind); !fault.empty())
        return Error(Errc::usage, base::format("CDI: kind '{}': {}", driver->cdi_kind, fault));
    return &*driver;
}

} // namespace

Result<CdiDocument> cdi_document(const plan::Planned& planned, const CdiRequest& request)
{
    GPUCTR_TRY(const DriverStack* const driver, only_driver(planned));
    Indexes chosen;
    for (const Gpu& gpu : planned.plan.drivers.front().gpus)
        chosen.insert(gpu.index);
    if (chosen.empty())
        return Error(Errc::no_device, "CDI: the plan has no GPU");
    CdiDocument document;
    Edits edits(planned.plan.items, base::format("{}/{}", request.files_directory,
                                                 cdi::file_name_of(driver->cdi_kind)));
    cdi::Specification& specification = document.specification;
    specification.kind = driver->cdi_kind;
    for (const auto& [name, gpus] : devices_of(*driver, chosen))
        specification.devices.push_back({name, {}, edits.of(gpus)});
    if (!request.hook.empty())
        edits.leave_to(hook_of(request.hook));
    if (!request.staged_tree.empty())
        GPUCTR_CHECK(bind_staged(edits.common.mounts, request.staged_tree, driver->tree_link,
                                 *planned.plan.machine));
    GPUCTR_CHECK(require_utf8(edits.common.mounts));
    sort(edits.common.mounts);
    specification.edits = std::move(edits.common);
    if (request.groups)
        specification.edits.additional_gids = planned.plan.groups;
    document.files = std::move(edits.files);
    GPUCTR_CHECK(about("version", cdi::set_version(specification, request.version)));
    return document;
}

std::vector<cdi::Mark> cdi_marks(const DriverStack& driver)
{
    std::vector<cdi::Mark> marks = {
        {"driver", base::format("{} {}", driver.vendor_name, driver.version)}};
    for (const Gpu& gpu : driver.gpus)
        marks.push_back({base::format("GPU {}", gpu.label()),
                         base::format("{} at {}", gpu.uuid.empty() ? gpu.model : gpu.uuid,
                                      gpu.pci_address.empty() ? "no bus" : gpu.pci_address)});
    return marks;
}

} // namespace gpucontainer::exports

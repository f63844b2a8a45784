// SPDX-License-Identifier: MIT
#include "export/oci.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/names.hpp"
#include "export/mounts.hpp"
#include "record/driver.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::exports {
namespace {

using OciJson = record::Json;

/// Mounts and nodes of a plan, before they are sorted.
class OciEdits {
public:
    OciEdits(const plan::Planned& planned, std::string files_directory)
        : planned_(planned), files_directory_(std::move(files_directory))
    {
    }

    Result<void> add(const plan::Item& item)
    {
        const std::string* const content = item.content();
        if (!base::is_utf8(item.target) || !base::is_utf8(item.source())
            || (content != nullptr && !base::is_utf8(*content)))
            return Error(Errc::usage, base::format("OCI: {}: JSON cannot have it, because it is "
                                                   "not UTF-8",
                                                   item.target))
                .with_object(item.target);
        if (const auto* const device = item.as<plan::Device>())
            add_device(item, *device);
        else if (auto given = mount_of(item, directory_for(item.owner.vendor)))
            add_mount(*std::move(given));
        return {};
    }

    Result<OciJson> document()
    {
        // Directories before what is in them, and the same order each time.
        std::ranges::stable_sort(mounts_, {}, &cdi::Mount::container_path);
        OciJson env = OciJson::array();
        OciJson unset = OciJson::array();
        for (const plan::Variable& variable : planned_.plan.variables) {
            if (!base::is_utf8(variable.name) || !base::is_utf8(variable.value))
                return Error(Errc::usage, base::format("OCI: {}: not UTF-8", variable.name));
            if (variable.action == "set")
                env.push_back(base::format("{}={}", variable.name, variable.value));
            else if (variable.action == "unset")
                unset.push_back(variable.name);
            else
                return Error(Errc::internal,
                             base::format("OCI: {} of {}", variable.action, variable.name));
        }
        const auto file = [](const cdi::HostFile& one) {
            return OciJson{{"path", one.path}, {"content", one.content}};
        };
        const auto mount = [](const cdi::Mount& one) {
            return OciJson{{"destination", one.container_path},
                           {"type", "bind"},
                           {"source", one.host_path},
                           {"options", one.options}};
        };
        return OciJson{
            {"schema", "gpucontainer/oci/1"},
            {"files", record::array_of(files_, file)},
            {"unset_env", std::move(unset)},
            {"process",
             {{"env", std::move(env)}, {"user", {{"additionalGids", planned_.plan.groups}}}}},
            {"mounts", record::array_of(mounts_, mount)},
            {"linux",
             {{"devices", std::move(devices_)}, {"resources", {{"devices", std::move(rules_)}}}}}};
    }

private:
    /// One for each kind of devices, as specifications of CDI have it.
    std::string directory_for(const std::string& vendor) const
    {
        for (const model::DriverStack& driver : *planned_.drivers)
            if (driver.vendor == vendor)
                return base::format("{}/{}", files_directory_, cdi::file_name_of(driver.cdi_kind));
        return files_directory_;
    }

    const model::DeviceNode* node_of(const plan::Item& item) const
    {
        for (const model::DriverStack& driver : *planned_.drivers)
            for (const model::DeviceNode& node : driver.nodes)
                if (driver.vendor == item.owner.vendor && node.path == item.target)
                    return &node;
        return nullptr;
    }

    void add_device(const plan::Item& item, const plan::Device& device)
    {
        constexpr std::uint32_t permissions = 0777;
        const model::DeviceNode* const node = node_of(item);
        OciJson one = {
            {"path", item.target}, {"type", "c"}, {"major", device.major}, {"minor", device.minor}};
        one["fileMode"] = node != nullptr ? node->mode & permissions : permissions & 0666U;
        one["uid"] = node != nullptr ? node->uid : 0;
        one["gid"] = node != nullptr ? node->gid : 0;
        devices_.push_back(std::move(one));
        rules_.push_back({{"allow", true},
                          {"type", "c"},
                          {"major", device.major},
                          {"minor", device.minor},
                          {"access", "rw"}});
    }

    void add_mount(GivenMount given)
    {
        mounts_.push_back(std::move(given.mount));
        if (given.file)
            files_.push_back(*std::move(given.file));
    }

    const plan::Planned& planned_;
    std::string files_directory_;
    std::vector<cdi::HostFile> files_;
    std::vector<cdi::Mount> mounts_;
    OciJson devices_ = OciJson::array();
    OciJson rules_ = OciJson::array();
};

} // namespace

Result<std::string> oci_edits(const plan::Planned& planned, const std::string& files_directory)
{
    if (planned.plan.layout != plan::Layout::binds)
        return Error(Errc::usage, "OCI: the plan is not for images that are not known")
            .with_argument("plan")
            .with_hint("a plan with layout binds is");
    OciEdits edits(planned, files_directory);
    for (const plan::Item& item : planned.plan.items)
        GPUCTR_CHECK(edits.add(item));
    GPUCTR_TRY(const OciJson document, edits.document());
    return base::without_control_characters(document.dump(2)) + "\n";
}

} // namespace gpucontainer::exports

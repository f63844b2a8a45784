// SPDX-License-Identifier: MIT
#include "import/wishes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "import/oci_config.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;
using drivers::ContainerNames;

const Json* list_in(const Json* object, const char* name)
{
    const Json* const list = member(object, name);
    return list != nullptr && list->is_array() ? list : nullptr;
}

/// A container that may do what root of the host may. Whoever makes it privileged can give it any
/// device.
bool is_privileged(const Json& config)
{
    const Json* const process = member(&config, "process");
    const Json* const bounding = list_in(member(process, "capabilities"), "bounding");
    const Json* const namespaces = list_in(member(&config, "linux"), "namespaces");
    const auto is_of_users = [](const Json& one) { return text_of(one, "type") == "user"; };
    return bounding != nullptr
           && std::find(bounding->begin(), bounding->end(), "CAP_SYS_ADMIN") != bounding->end()
           && (namespaces == nullptr
               || std::none_of(namespaces->begin(), namespaces->end(), is_of_users));
}

std::string value_of(const Variables& variables, std::string_view name)
{
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? "" : std::string(base::trim(found->second));
}

/// Whether a value asks for something: neither nothing nor "void". A path stands for the mounts
/// below it.
bool asks(const std::string& value)
{
    return !value.empty() && base::to_lower(value) != "void" && !value.starts_with('/');
}

/// Whether GPUs are named one by one.
bool names_some(const std::string& value)
{
    return std::ranges::none_of(base::split(value, ','), [](std::string_view word) {
        const std::string name = base::to_lower(base::trim(word));
        return name == "all" || name == "none";
    });
}

/// A text of the container's in a message: one line of some length.
std::string shown(std::string_view name, const std::string& value)
{
    constexpr std::size_t longest = 160;
    std::string line = base::format("{}={}", name, value);
    if (line.size() > longest)
        line.replace(longest, std::string::npos, "...");
    std::ranges::replace_if(line, base::is_control, '?');
    return line;
}

class Reader {
public:
    Reader(Parts& parts, AcceptedWishes accepted)
        : parts_(parts), accepts_mounts_((accepted & by_mounts) != 0),
          accepts_legacy_((accepted & by_legacy_image) != 0), given_(environment_of(parts))
    {
        accepts_environment_ =
            (accepted & by_environment) != 0
            || ((accepted & by_privileged_environment) != 0 && is_privileged(parts.kept));
    }

    Wishes read()
    {
        wishes_.variables = given_;
        for (const drivers::Vendor& vendor : drivers::vendors())
            if (!vendor.container.devices.empty())
                read(vendor);
        // These names are kept for what they show of the image alone.
        std::erase_if(wishes_.variables, [](const auto& variable) {
            return has_prefix_of_maker(variable.first) && !is_variable_of_maker(variable.first);
        });
        return std::move(wishes_);
    }

private:
    void read(const drivers::Vendor& vendor)
    {
        const ContainerNames& names = vendor.container;
        const NamedByMounts named = named_by_mounts(parts_, names);
        set(names.channels, accepts_mounts_ ? named.channels : "");
        const std::string value = wish(names, named.devices);
        set(names.devices, value);
        if (asks(value))
            wishes_.vendors.emplace_back(vendor.name);
    }

    /// The value that counts; "" if none does.
    std::string wish(const ContainerNames& names, const std::string& by_mounts_alone)
    {
        if (!by_mounts_alone.empty() && accepts_mounts_) {
            wishes_.names_gpus = true;
            return by_mounts_alone;
        }
        if (!by_mounts_alone.empty())
            refuse(base::format("mounts below {} that name {}", names.volumes,
                                shown("GPUs", by_mounts_alone)));
        std::string value = value_of(given_, names.devices);
        if (asks(value)) {
            if (!accepts_environment_) {
                refuse(base::format("{} of its environment", shown(names.devices, value)));
                return "";
            }
            wishes_.names_gpus = wishes_.names_gpus || names_some(value);
            return value;
        }
        if (!is_legacy(names))
            return accepts_environment_ ? value : "";
        if (accepts_environment_ && accepts_legacy_)
            return "all";
        refuse(base::format("{} of an older image, which has no variable {}*",
                            shown(names.legacy, value_of(given_, names.legacy)), names.prefix));
        return "";
    }

    bool is_legacy(const ContainerNames& names) const
    {
        return !names.legacy.empty() && !value_of(given_, names.legacy).empty()
               && std::ranges::none_of(given_, [&](const auto& variable) {
                      return variable.first.starts_with(names.prefix);
                  });
    }

    /// What the environment says counts with it alone.
    void set(std::string_view name, const std::string& value)
    {
        if (name.empty())
            return;
        if (!value.empty())
            wishes_.variables[std::string(name)] = value;
        else if (!accepts_environment_)
            wishes_.variables.erase(std::string(name));
    }

    void refuse(std::string what) { wishes_.refused.push_back(std::move(what)); }

    Parts& parts_;
    bool accepts_mounts_;
    bool accepts_legacy_;
    bool accepts_environment_ = false;
    Variables given_;
    Wishes wishes_;
};

} // namespace

Wishes wishes_of(Parts& parts, AcceptedWishes accepted) { return Reader(parts, accepted).read(); }

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#include "import/device_rules.hpp"

#include "base/format.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "import/document_parts.hpp"
#include "import/oci_document.hpp"
#include "mount/position.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::imports {
namespace {

using cgroup::OrderedRule;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 6> parts_with_rules = {"root/path",
                                                              "linux/resources/devices/*/allow",
                                                              "linux/resources/devices/*/type",
                                                              "linux/resources/devices/*/major",
                                                              "linux/resources/devices/*/minor",
                                                              "linux/resources/devices/*/access"};

/// All of them count.
bool is_rule(std::string_view /*name*/, const Json& /*element*/) { return true; }

Error no_rule(std::size_t index, const char* why)
{
    return {Errc::usage, base::format("linux.resources.devices[{}]: {}", index, why)};
}

/// None, null and -1 stand for any. False for what is no number of a device.
bool read_number(const Json& rule, const char* name, std::optional<std::uint32_t>& into)
{
    const Json* const number = member(&rule, name);
    if (number == nullptr || number->is_null())
        return true;
    if (!number->is_number_integer())
        return false;
    if (!number->is_number_unsigned())
        return number->get<std::int64_t>() == -1;
    const auto value = number->get<std::uint64_t>();
    into = static_cast<std::uint32_t>(value);
    return value <= UINT32_MAX;
}

std::optional<cgroup::DeviceType> device_type(const Json& rule)
{
    const Json* const type = member(&rule, "type");
    const std::string_view text = text_of(rule, "type");
    if (type == nullptr || text == "a" || (type->is_string() && text.empty()))
        return cgroup::DeviceType::any;
    if (text == "c" || text == "u")
        return cgroup::DeviceType::character;
    return text == "b" ? std::optional(cgroup::DeviceType::block) : std::nullopt;
}

constexpr cgroup::Access all_access = cgroup::may_use | cgroup::may_make;

std::optional<cgroup::Access> access_of(const Json& rule)
{
    const Json* const given = member(&rule, "access");
    if (given != nullptr && !given->is_string())
        return std::nullopt;
    cgroup::Access access = 0;
    for (const char letter : text_of(rule, "access"))
        if (letter == 'r')
            access |= cgroup::may_read;
        else if (letter == 'w')
            access |= cgroup::may_write;
        else if (letter == 'm')
            access |= cgroup::may_make;
        else
            return std::nullopt;
    return access != 0 ? access : all_access;
}

Result<OrderedRule> read_rule(const Json& rule, std::size_t index)
{
    const Json* const allow = member(&rule, "allow");
    if (!rule.is_object() || allow == nullptr || !allow->is_boolean())
        return no_rule(index, "neither allowed nor denied");
    OrderedRule read;
    read.allow = allow->get<bool>();
    const auto type = device_type(rule);
    const auto access = access_of(rule);
    if (!type || !access || !read_number(rule, "major", read.major)
        || !read_number(rule, "minor", read.minor))
        return no_rule(index, "its type, number or access is not known");
    read.type = *type;
    read.access = *access;
    // For some runtimes this forbids every device, so that it would forget what others allow.
    if (!read.allow && read.type == cgroup::DeviceType::any
        && (read.major || read.minor || read.access != all_access))
        return no_rule(index, "what it denies has to be of a type");
    return read;
}

Result<std::vector<OrderedRule>> rules_of(const Json& document)
{
    const Json* const linux_part = member(&document, "linux");
    const Json* const list = member(member(linux_part, "resources"), "devices");
    std::vector<OrderedRule> rules;
    if (list != nullptr && !list->is_null()
        && (!list->is_array() || list->size() > cgroup::most_rules))
        return Error(Errc::usage, "linux.resources.devices is not a list of rules");
    if (list != nullptr && list->is_array())
        for (std::size_t i = 0; i < list->size(); ++i) {
            GPUCTR_TRY(const OrderedRule rule, read_rule((*list)[i], i));
            rules.push_back(rule);
        }
    const auto every = cgroup::rules_of_every_container();
    rules.insert(rules.end(), every.begin(), every.end());
    return rules;
}

/// The parts of a bundle's configuration, which gives rights: nobody but root and the caller can
/// have written it, and it is not of the container's own files.
Result<Parts> read_trusted(const std::string& path, int rootfs_fd)
{
    GPUCTR_TRY(auto way, base::TrustedWay::walk(path, O_RDONLY));
    if (!way.fd)
        return Error::from_errno(ENOENT, path, Errc::usage).with_object(path);
    struct stat root = {};
    if (::fstat(rootfs_fd, &root) != 0)
        return Error::from_errno(errno, "the root file system", Errc::rootfs);
    if (std::ranges::find(way.passed, base::FileId(root.st_dev, root.st_ino)) != way.passed.end()
        || mount::lies_within(way.directory.get(), rootfs_fd))
        return Error(Errc::usage, path + ": inside the root file system, so a container's own")
            .with_object(path);
    if (way.distrust)
        return std::move(*way.distrust);
    GPUCTR_CHECK(base::check_trust(way.fd.get(), path));
    auto parts = read_parts(way.fd.get(), {parts_with_rules, is_rule});
    if (!parts)
        return std::move(parts).error().with_code(Errc::usage).context(path);
    if (!parts->fault.empty())
        return Error(Errc::usage, base::format("{}: {}", path, parts->fault));
    return parts;
}

/// Whether the path in a configuration leads to the directory.
bool is_root(const std::string& path, int rootfs_fd)
{
    struct stat named = {};
    struct stat given = {};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(rootfs_fd, &given) == 0
           && named.st_dev == given.st_dev && named.st_ino == given.st_ino;
}

} // namespace

Result<std::vector<OrderedRule>> read_device_rules(std::string_view configuration)
{
    const Parts parts = read_parts(configuration, {parts_with_rules, is_rule});
    if (!parts.fault.empty())
        return Error(Errc::usage, parts.fault);
    return rules_of(parts.kept);
}

Result<std::vector<OrderedRule>> device_rules_of_bundle(const std::string& bundle, int rootfs_fd)
{
    const std::string path = bundle + "/config.json";
    GPUCTR_TRY(const Parts parts, read_trusted(path, rootfs_fd));
    const Json* const root = member(&parts.kept, "root");
    const std::string named(root == nullptr ? "" : text_of(*root, "path"));
    if (!is_root(named.starts_with('/') ? named : base::format("{}/{}", bundle, named), rootfs_fd))
        return Error(Errc::usage, base::format("{}: it is of another root file system", path));
    GPUCTR_TRY(auto rules, rules_of(parts.kept), "{}", path);
    return rules;
}

} // namespace gpucontainer::imports

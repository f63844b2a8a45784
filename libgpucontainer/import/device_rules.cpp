// SPDX-License-Identifier: MIT
#include "import/device_rules.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>

namespace gpucontainer::imports {
namespace {

using cgroup::OrderedRule;
using Json = nlohmann::json;

Error no_rule(std::size_t index, const char* why)
{
    return {Errc::usage, base::format("linux.resources.devices[{}]: {}", index, why)};
}

/// None, null and negative numbers stand for any. False for what is no number.
bool read_number(const Json& rule, const char* name, std::optional<std::uint32_t>& into)
{
    const Json* const number = member(&rule, name);
    if (number == nullptr || number->is_null())
        return true;
    if (!number->is_number_integer())
        return false;
    if (!number->is_number_unsigned())
        return true;
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

std::optional<cgroup::Access> access_of(const Json& rule)
{
    constexpr cgroup::Access all = cgroup::may_use | cgroup::may_make;
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
    return access != 0 ? access : all;
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
    GPUCTR_TRY(const Json document, parse_document(configuration));
    return rules_of(document);
}

Result<std::vector<OrderedRule>> device_rules_of_bundle(const std::string& bundle, int rootfs_fd)
{
    const std::string path = bundle + "/config.json";
    auto text = base::read_file(path, largest_document);
    if (!text)
        return std::move(text).error().with_code(Errc::usage);
    GPUCTR_TRY(const Json document, parse_document(*text), "{}", path);
    const Json* const root = member(&document, "root");
    const std::string named(root == nullptr ? "" : text_of(*root, "path"));
    if (!is_root(named.starts_with('/') ? named : base::format("{}/{}", bundle, named), rootfs_fd))
        return Error(Errc::usage, base::format("{}: it is of another root file system", path));
    GPUCTR_TRY(auto rules, rules_of(document), "{}", path);
    return rules;
}

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#include "config/catalogue_file.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/names.hpp"
#include "config/yaml_fields.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace gpucontainer::config {
namespace {

constexpr std::size_t max_rules = 4096;
constexpr std::size_t max_name = 128;
constexpr std::size_t max_path = 512;
constexpr std::size_t max_reason = 200;
constexpr std::size_t max_texts = 16;

/// The name, with an ordinary version in place of "{version}".
std::string with_sample_version(std::string_view text)
{
    constexpr std::string_view placeholder = "{version}";

    std::string name(text);
    if (const auto at = name.find(placeholder); at != std::string::npos)
        name.replace(at, placeholder.size(), "0");
    return name;
}

Result<void> check_reason(const FileRule& rule)
{
    if (rule.reason.size() > max_reason || std::ranges::any_of(rule.reason, base::is_control))
        return mistake(rule.line, base::format("reason of {} is not one line of at most {} bytes",
                                               rule.name, max_reason));
    return {};
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kind_names = {"library", "tool", "data"};

std::string_view name(FileRule::Kind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

/// The kind of the rule. It must have exactly one.
Result<FileRule::Kind> read_kind(const Fields& fields, std::size_t line)
{
    const auto is_there = [&](std::string_view kind) { return fields.has(kind); };
    if (std::ranges::count_if(kind_names, is_there) != 1)
        return mistake(line, "a rule names one file (needed: one of library, tool and data)");
    return static_cast<FileRule::Kind>(std::ranges::find_if(kind_names, is_there)
                                       - kind_names.begin());
}

Result<std::string> read_icd(const Fields& fields)
{
    if (!fields.has("icd"))
        return std::string();
    GPUCTR_TRY(const std::string_view name, fields.text("icd"));
    if (name.size() > max_name || !is_file_name(name) || !name.ends_with(".icd"))
        return mistake(fields.find("icd")->line,
                       base::format("icd {} is not a file name NAME.icd (allowed: letters, digits, "
                                    ". _ + -)",
                                    quote(name)));
    return std::string(name);
}

Result<std::string> read_module(const Fields& fields)
{
    if (!fields.has("module"))
        return std::string();
    GPUCTR_TRY(const std::string_view path, fields.text("module"));
    if (path.size() > max_name || !std::ranges::all_of(base::split(path, '/'), is_file_name))
        return mistake(fields.find("module")->line,
                       base::format("module {} is not the name of a directory, or of a file in one "
                                    "(allowed: letters, digits, . _ + - and /)",
                                    quote(path)));
    return std::string(path);
}

/// The texts of a list, with commas between.
Result<std::string> read_joined(const Fields& fields, std::string_view key,
                                bool (*fits)(std::string_view text), std::string_view what)
{
    const Field* const field = fields.find(key);
    if (field == nullptr)
        return std::string();
    if (field->value->kind != YamlValue::Kind::list || field->value->items.size() > max_texts)
        return mistake(field->line, base::format("{} is not a list of at most {}", key, max_texts));
    std::string all;
    for (const YamlValue& item : field->value->items) {
        if (item.kind != YamlValue::Kind::scalar || item.text.size() > max_name || !fits(item.text))
            return mistake(item.line, base::format("{} {} {}", key, quote(item.text), what));
        all += all.empty() ? item.text : "," + item.text;
    }
    return all;
}

bool is_soname(std::string_view text)
{
    const std::string name = with_sample_version(text);
    return is_file_name(name) && !stem_of(FileRule::Kind::library, name).empty();
}

bool is_manifest(std::string_view text)
{
    const auto parts = base::split(text, '/');
    return parts.size() == 2 && parts[1].ends_with(".json") && is_file_name(parts[1])
           && std::ranges::find(manifest_manners, parts[0]) != manifest_manners.end();
}

/// Refuses paths below directories that are the container's own.
Result<void> check_data_path(const FileRule& rule)
{
    const std::string path = with_sample_version(rule.name);
    const auto names = base::split(std::string_view(path).substr(path.empty() ? 0 : 1), '/');
    if (path.size() > max_path || !path.starts_with('/') || names.size() < 2
        || !std::ranges::all_of(names, is_file_name))
        return mistake(rule.line, base::format("data {} is not a plain absolute path (allowed: "
                                               "letters, digits, . _ + -, / and one {{version}})",
                                               quote(rule.name)));
    for (const std::string_view other : {"/dev", "/etc", "/proc", "/sys", "/run"})
        if (base::is_below(path, other))
            return mistake(rule.line, base::format("data {} is below {}", rule.name, other));
    return {};
}

/// Checks the form only. The registry of makers knows which vendors there are.
Result<std::string> read_vendor(const Fields& fields)
{
    GPUCTR_TRY(const std::string_view vendor, fields.text("vendor"));
    if (!is_vendor_name(vendor))
        return mistake(fields.find("vendor")->line,
                       base::format("vendor {} is not a name of one (allowed: small letters, "
                                    "digits and -)",
                                    quote(vendor)));
    return std::string(vendor);
}

Result<FileRule> read_rule(const YamlValue& value, const std::string& vendor)
{
    constexpr std::array<std::string_view, 15> keys = {
        "library", "tool", "data",      "capability", "also",    "entry", "unversioned", "icd",
        "module",  "own",  "manifests", "loads",      "neutral", "links", "reason"};

    FileRule rule;
    rule.line = value.line;
    rule.vendor = vendor;
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a rule", keys));
    GPUCTR_TRY(rule.kind, read_kind(fields, rule.line));
    GPUCTR_TRY(rule.name, fields.text(name(rule.kind)));
    GPUCTR_CHECK(check_name(rule));
    GPUCTR_TRY(rule.capability, fields.choice("capability", capability_names));
    if (fields.has("also")) {
        GPUCTR_TRY(rule.also, fields.choice("also", capability_names));
    }
    GPUCTR_TRY(rule.entry, fields.flag("entry"));
    GPUCTR_TRY(rule.unversioned, fields.flag("unversioned"));
    GPUCTR_TRY(rule.icd, read_icd(fields));
    GPUCTR_TRY(rule.module, read_module(fields));
    GPUCTR_TRY(rule.own, fields.flag("own"));
    GPUCTR_TRY(
        rule.manifests,
        read_joined(fields, "manifests", is_manifest,
                    "is not MANNER/NAME.json (manners: egl_vendor, egl_platform, vulkan_icd, "
                    "vulkan_layer and vulkansc_icd)"));
    GPUCTR_TRY(rule.loads, read_joined(fields, "loads", is_soname,
                                       "is not the name of a library (allowed: NAME.so, "
                                       "NAME.so.VERSION)"));
    GPUCTR_TRY(rule.neutral, fields.flag("neutral"));
    GPUCTR_TRY(rule.links, read_joined(fields, "links", is_soname,
                                       "is not the name of a library (allowed: NAME.so, "
                                       "NAME.so.VERSION)"));
    const bool is_library = rule.kind == FileRule::Kind::library;
    const bool is_data = rule.kind == FileRule::Kind::data;
    for (const std::string_view key :
         {"entry", "unversioned", "icd", "module", "own", "manifests", "loads", "neutral", "links"})
        if (const Field* field = fields.find(key);
            !is_library && field != nullptr && !(is_data && key == "module"))
            return mistake(field->line,
                           base::format("{} is for libraries, and {} is {}", key, rule.name,
                                        rule.kind == FileRule::Kind::tool ? "a tool" : "data"));
    GPUCTR_TRY(rule.reason, fields.text("reason"));
    GPUCTR_CHECK(check_reason(rule));
    return rule;
}

Result<std::vector<FileRule>> read_rules(const Field& files, const std::string& vendor)
{
    if (files.value->kind != YamlValue::Kind::list)
        return mistake(files.line, "files is not a list");
    if (files.value->items.size() > max_rules)
        return mistake(files.line, base::format("more than {} rules", max_rules));

    std::vector<FileRule> rules;
    std::map<std::pair<FileRule::Kind, std::string>, std::size_t> lines;
    for (const YamlValue& item : files.value->items) {
        GPUCTR_TRY(FileRule rule, read_rule(item, vendor));
        const auto [first, is_new] =
            lines.emplace(std::pair(rule.kind, stem_of(rule.kind, rule.name)), rule.line);
        if (!is_new)
            return mistake(rule.line, base::format("{} has a rule already, in line {}", rule.name,
                                                   first->second));
        rules.push_back(std::move(rule));
    }
    return rules;
}

} // namespace

std::string_view stem_of(FileRule::Kind kind, std::string_view name)
{
    if (kind != FileRule::Kind::library)
        return name;
    const std::size_t end = name.ends_with(".so") ? name.size() - 3 : name.find(".so.");
    return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

Result<void> check_name(const FileRule& rule)
{
    if (rule.kind == FileRule::Kind::data)
        return check_data_path(rule);
    if (rule.name.size() > max_name)
        return mistake(rule.line, base::format("name {} is longer than {} characters",
                                               quote(rule.name), max_name));
    const bool is_library = rule.kind == FileRule::Kind::library;
    const std::string name = is_library ? with_sample_version(rule.name) : rule.name;
    if (!is_file_name(name))
        return mistake(
            rule.line,
            base::format("name {} is not a file name (allowed: letters, digits, . _ + -{})",
                         quote(rule.name), is_library ? " and one {version}" : ""));
    if (is_library && stem_of(rule.kind, name).empty())
        return mistake(rule.line, base::format("{} is not the name of a library "
                                               "(allowed: NAME.so, NAME.so.VERSION)",
                                               rule.name));
    return {};
}

Result<CatalogueFile> parse_catalogue(std::string_view yaml)
{
    constexpr std::array<std::string_view, 3> keys = {"vendor", "maker", "files"};

    GPUCTR_TRY(auto content, parse_yaml(yaml));
    if (!content)
        return Error(Errc::usage, "no content");
    const auto document = std::make_shared<const YamlValue>(*std::move(content));
    GPUCTR_TRY(const Fields fields, Fields::read(*document, "a catalogue", keys));
    CatalogueFile file;
    GPUCTR_TRY(file.vendor, read_vendor(fields));
    file.vendor_line = fields.find("vendor")->line;
    if (const Field* const maker = fields.find("maker")) {
        const std::string_view name = fields.find("vendor")->value->text;
        GPUCTR_TRY(file.maker, read_maker(document, *maker->value, name));
        if (!fields.has("files"))
            return file;
    }
    GPUCTR_TRY(const Field files, fields.need("files"));
    GPUCTR_TRY(file.rules, read_rules(files, file.vendor));
    return file;
}

} // namespace gpucontainer::config

// SPDX-License-Identifier: MIT
#include "model/catalogue.hpp"

#include "config/catalogue_file.hpp"
#include "config/names.hpp"
#include "model/parse.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpucontainer::model {
namespace {

// The words of catalogue files, in the order of the enumerators.
using config::capability_names;
static_assert(capability_names.size() == static_cast<std::size_t>(Capability::compat32) + 1);
constexpr std::array<std::string_view, 3> kind_names = {"library", "tool", "data"};

bool is_library_suffix(std::string_view text) { return text == ".so" || text.starts_with(".so."); }

} // namespace

std::string_view name(Capability capability)
{
    return capability_names.at(static_cast<std::size_t>(capability));
}

std::string_view name(FileKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

std::optional<Capability> parse_capability(std::string_view text)
{
    return parse<Capability>(capability_names, text);
}

std::optional<FileKind> parse_file_kind(std::string_view text)
{
    return parse<FileKind>(kind_names, text);
}

const CatalogueRule* find_rule(Catalogue catalogue, FileKind kind, std::string_view file_name)
{
    const std::string_view wanted =
        kind == FileKind::library ? config::stem_of(config::FileRule::Kind::library, file_name)
                                  : file_name;
    if (wanted.empty())
        return nullptr;
    const auto found = std::ranges::find_if(catalogue, [&](const CatalogueRule& rule) {
        if (rule.kind != kind || !rule.name.starts_with(wanted))
            return false;
        const std::string_view rest = rule.name.substr(wanted.size());
        return kind == FileKind::library ? is_library_suffix(rest) : rest.empty();
    });
    return found == catalogue.end() ? nullptr : &*found;
}

bool serves(const CatalogueRule& rule, Capability capability)
{
    return capability != Capability::none
           && (rule.capability == capability || rule.also == capability);
}

std::string with_version(std::string_view text, std::string_view driver_version)
{
    constexpr std::string_view placeholder = "{version}";

    std::string with(text);
    for (std::size_t at = 0; (at = with.find(placeholder, at)) != std::string::npos;
         at += driver_version.size())
        with.replace(at, placeholder.size(), driver_version);
    return with;
}

std::string soname_of(const CatalogueRule& rule, std::string_view driver_version)
{
    return with_version(rule.name, driver_version);
}

} // namespace gpucontainer::model

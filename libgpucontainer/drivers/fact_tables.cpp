// SPDX-License-Identifier: MIT
#include "drivers/fact_tables.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/names.hpp"
#include "config/yaml_fields.hpp"
#include "requirement/expression.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::drivers {
namespace {

using config::Field;
using config::Fields;
using config::mistake;
using config::YamlValue;

constexpr std::size_t most_rows = 1024;

Result<std::string> read_version(const Fields& fields, std::string_view key)
{
    GPUCTR_TRY(const std::string_view text, fields.text(key));
    if (!requirement::is_version(text))
        return mistake(fields.find(key)->line,
                       base::format("{} {} is not a version", key, config::quote(text)));
    return std::string(text);
}

/// Each element of a list, read by `read`, which gets the earlier ones.
template <typename Row, typename Read>
Result<std::vector<Row>> read_rows(const Fields& fields, std::string_view key, Read read)
{
    GPUCTR_TRY(const Field list, fields.need(key));
    if (list.value->kind != YamlValue::Kind::list || list.value->items.empty())
        return mistake(list.line, base::format("{} is not a list", key));
    if (list.value->items.size() > most_rows)
        return mistake(list.line, base::format("more than {} {}", most_rows, key));
    std::vector<Row> rows;
    for (const YamlValue& item : list.value->items) {
        GPUCTR_TRY(Row row, read(item, rows));
        rows.push_back(std::move(row));
    }
    return rows;
}

using Releases = std::vector<FactTables::Release>;

Result<FactTables::Release> finish_release(const Fields& fields, std::string_view key,
                                           const Releases& earlier)
{
    FactTables::Release release;
    GPUCTR_TRY(release.version, read_version(fields, key));
    GPUCTR_TRY(release.cuda, read_version(fields, "cuda"));
    if (fields.has("least")) {
        GPUCTR_TRY(release.least, read_version(fields, "least"));
    }
    for (const FactTables::Release& one : earlier)
        if (std::is_gteq(requirement::compare(one.version, release.version))
            || std::is_gt(requirement::compare(one.cuda, release.cuda))
            || (!release.least.empty()
                && std::is_gteq(requirement::compare(one.least, release.least))))
            return mistake(fields.line(),
                           base::format("{} {} is not in ascending order", key, release.version));
    return release;
}

Result<FactTables::Release> read_release(const YamlValue& value, const Releases& earlier)
{
    constexpr std::array<std::string_view, 3> keys = {"driver", "cuda", "least"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a release", keys));
    return finish_release(fields, "driver", earlier);
}

Result<FactTables::Release> read_platform_release(const YamlValue& value, const Releases& earlier)
{
    constexpr std::array<std::string_view, 2> keys = {"release", "cuda"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a release of a platform", keys));
    return finish_release(fields, "release", earlier);
}

/// "2300-23ff"
Result<void> read_devices(const Fields& fields, FactTables::Chip& chip)
{
    constexpr std::size_t digits = 4;
    GPUCTR_TRY(const std::string_view text, fields.text("devices"));
    const std::string_view first = text.substr(0, std::min(digits, text.size()));
    const std::string_view last = text.substr(std::min(digits + 1, text.size()));
    const auto low = base::to_number(first, 16);
    const auto high = base::to_number(last, 16);
    if (text.size() != 2 * digits + 1 || text[digits] != '-' || !low || !high || *low > *high
        || *low == 0)
        return mistake(
            fields.find("devices")->line,
            base::format("devices {} is not of the form 2300-23ff", config::quote(text)));
    chip.first = static_cast<std::uint16_t>(*low);
    chip.last = static_cast<std::uint16_t>(*high);
    return {};
}

Result<FactTables::Chip> read_chip(const YamlValue& value,
                                   const std::vector<FactTables::Chip>& earlier)
{
    constexpr std::array<std::string_view, 4> keys = {"chip", "devices", "soc", "arch"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a chip", keys));
    FactTables::Chip chip;
    GPUCTR_TRY(chip.name, fields.text("chip"));
    GPUCTR_TRY(chip.arch, read_version(fields, "arch"));
    if (!config::is_file_name(chip.name))
        return mistake(fields.find("chip")->line,
                       base::format("chip {} is not a name", config::quote(chip.name)));
    if (fields.has("devices") == fields.has("soc"))
        return mistake(fields.line(), "a chip has either devices or soc");
    if (fields.has("soc")) {
        GPUCTR_TRY(chip.soc, fields.text("soc"));
        return chip;
    }
    GPUCTR_CHECK(read_devices(fields, chip));
    for (const FactTables::Chip& one : earlier)
        if (one.last >= chip.first)
            return mistake(fields.line(), base::format("devices of {} are not behind those of {}",
                                                       chip.name, one.name));
    return chip;
}

Result<FactTables::Brand> read_brand(const YamlValue& value,
                                     const std::vector<FactTables::Brand>& earlier)
{
    constexpr std::array<std::string_view, 2> keys = {"model", "brands"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a row of brands", keys));
    FactTables::Brand row;
    GPUCTR_TRY(row.model, fields.text("model"));
    GPUCTR_TRY(const Field brands, fields.need("brands"));
    if (brands.value->kind != YamlValue::Kind::list || brands.value->items.empty())
        return mistake(brands.line, "brands is not a list");
    for (const YamlValue& item : brands.value->items) {
        if (!config::is_vendor_name(item.text))
            return mistake(item.line,
                           base::format("brand {} is not a word", config::quote(item.text)));
        row.brands.push_back(item.text);
    }
    for (const FactTables::Brand& one : earlier)
        if (row.model.starts_with(one.model))
            return mistake(fields.line(),
                           base::format("model {} is hidden by {}", row.model, one.model));
    return row;
}

Result<FactTables::BrandNumber>
read_brand_number(const YamlValue& value, const std::vector<FactTables::BrandNumber>& earlier)
{
    constexpr std::array<std::string_view, 3> keys = {"number", "brand", "compat"};
    constexpr std::uint64_t most = 1000;
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a number of a brand", keys));
    FactTables::BrandNumber row;
    GPUCTR_TRY(const std::string_view text, fields.text("number"));
    GPUCTR_TRY(const std::string_view brand, fields.text("brand"));
    GPUCTR_CHECK(fields.need("compat"));
    GPUCTR_TRY(row.compat, fields.flag("compat"));
    const auto number = base::to_number(text);
    if (!number || *number > most || (!earlier.empty() && *number <= earlier.back().number))
        return mistake(fields.line(),
                       base::format("number {} is not in ascending order", config::quote(text)));
    if (!config::is_vendor_name(brand))
        return mistake(fields.line(), base::format("brand {} is not a word", config::quote(brand)));
    row.number = static_cast<unsigned>(*number);
    row.brand = brand;
    return row;
}

Result<FactTables::CompatRelease>
read_compat_release(const YamlValue& value, const std::vector<FactTables::CompatRelease>& earlier)
{
    constexpr std::array<std::string_view, 2> keys = {"compat", "drivers"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a compat release", keys));
    FactTables::CompatRelease row;
    GPUCTR_TRY(row.version, read_version(fields, "compat"));
    GPUCTR_TRY(const Field drivers, fields.need("drivers"));
    if (drivers.value->kind != YamlValue::Kind::list || drivers.value->items.empty())
        return mistake(drivers.line, "drivers is not a list");
    for (const YamlValue& item : drivers.value->items) {
        if (!requirement::is_version(item.text)
            || std::is_gteq(requirement::compare(item.text, row.version)))
            return mistake(item.line, base::format("driver {} is not a branch before {}",
                                                   config::quote(item.text), row.version));
        row.drivers.push_back(item.text);
    }
    if (!earlier.empty() && std::is_gteq(requirement::compare(earlier.back().version, row.version)))
        return mistake(fields.line(),
                       base::format("compat {} is not in ascending order", row.version));
    return row;
}

Result<FactTables::Major> read_major(const YamlValue& value,
                                     const std::vector<FactTables::Major>& earlier)
{
    constexpr std::array<std::string_view, 2> keys = {"cuda", "driver"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a major release", keys));
    FactTables::Major row;
    GPUCTR_TRY(row.cuda, read_version(fields, "cuda"));
    GPUCTR_TRY(row.driver, read_version(fields, "driver"));
    if (row.cuda.find('.') != std::string::npos)
        return mistake(fields.line(), base::format("cuda {} is not a major release", row.cuda));
    if (!earlier.empty()
        && (std::is_gteq(requirement::compare(earlier.back().cuda, row.cuda))
            || std::is_gteq(requirement::compare(earlier.back().driver, row.driver))))
        return mistake(fields.line(), base::format("cuda {} is not in ascending order", row.cuda));
    return row;
}

Result<FactTables::Framework> read_framework(const YamlValue& value,
                                             const std::vector<FactTables::Framework>& earlier)
{
    constexpr std::array<std::string_view, 3> keys = {"package", "version", "cuda"};
    GPUCTR_TRY(const Fields fields, Fields::read(value, "a framework", keys));
    FactTables::Framework row;
    GPUCTR_TRY(row.package, fields.text("package"));
    GPUCTR_TRY(row.version, read_version(fields, "version"));
    GPUCTR_TRY(row.cuda, read_version(fields, "cuda"));
    if (!config::is_vendor_name(row.package))
        return mistake(fields.line(),
                       base::format("package {} is not a word", config::quote(row.package)));
    for (const FactTables::Framework& one : earlier)
        if (one.package == row.package
            && std::is_gteq(requirement::compare(one.version, row.version)))
            return mistake(fields.line(), base::format("{} {} is not in ascending order",
                                                       row.package, row.version));
    return row;
}

} // namespace

Result<FactTables> parse_fact_tables(std::string_view yaml)
{
    constexpr std::array<std::string_view, 9> keys = {
        "vendor",        "releases",        "platform_releases", "chips",     "brands",
        "brand_numbers", "compat_releases", "cuda_majors",       "frameworks"};
    GPUCTR_TRY(const auto content, config::parse_yaml(yaml));
    if (!content)
        return Error(Errc::usage, "no content");
    GPUCTR_TRY(const Fields fields, Fields::read(*content, "a file of facts", keys));
    FactTables tables;
    GPUCTR_TRY(tables.vendor, fields.text("vendor"));
    GPUCTR_TRY(tables.releases, read_rows<FactTables::Release>(fields, "releases", read_release));
    GPUCTR_TRY(tables.platform_releases,
               read_rows<FactTables::Release>(fields, "platform_releases", read_platform_release));
    GPUCTR_TRY(tables.chips, read_rows<FactTables::Chip>(fields, "chips", read_chip));
    GPUCTR_TRY(tables.brands, read_rows<FactTables::Brand>(fields, "brands", read_brand));
    GPUCTR_TRY(tables.brand_numbers,
               read_rows<FactTables::BrandNumber>(fields, "brand_numbers", read_brand_number));
    GPUCTR_TRY(tables.compat_releases, read_rows<FactTables::CompatRelease>(
                                           fields, "compat_releases", read_compat_release));
    GPUCTR_TRY(tables.cuda_majors, read_rows<FactTables::Major>(fields, "cuda_majors", read_major));
    GPUCTR_TRY(tables.frameworks,
               read_rows<FactTables::Framework>(fields, "frameworks", read_framework));
    return tables;
}

} // namespace gpucontainer::drivers

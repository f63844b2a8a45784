// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/catalogue_file.hpp"
#include "drivers/fact_tables.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Makes the built-in tables from catalogue files while the library is built, so that the library
// need not parse them.

namespace gpucontainer {
namespace {

/// A C++ string literal, for plain characters only, as catalogues have them.
std::string literal(std::string_view text)
{
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

std::string_view kind_of(const config::FileRule& rule)
{
    switch (rule.kind) {
    case config::FileRule::Kind::library:
        return "library";
    case config::FileRule::Kind::tool:
        return "tool";
    case config::FileRule::Kind::data:
        return "data";
    }
    return "";
}

std::string rules_for(std::string_view name, const std::vector<config::FileRule>& rules)
{
    // to_array() cannot make an empty array.
    std::string source =
        rules.empty()
            ? base::format("constexpr std::array<model::CatalogueRule, 0> {} = {{", name)
            : base::format("constexpr auto {} = std::to_array<model::CatalogueRule>({{\n", name);
    for (const config::FileRule& rule : rules)
        source += base::format(
            "    {{model::FileKind::{}, model::Capability::{}, model::Capability::{}, {},\n"
            "     {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
            kind_of(rule), rule.capability, rule.also, literal(rule.name), rule.entry,
            rule.unversioned, literal(rule.reason), literal(rule.icd), literal(rule.module),
            rule.own, literal(rule.manifests), literal(rule.loads), rule.neutral,
            literal(rule.links));
    return source + (rules.empty() ? "};\n\n" : "});\n\n");
}

/// The catalogue of a maker in C++, as its header declares it.
std::string source_for(const config::CatalogueFile& file)
{
    return base::format("// Made from drivers/{0}/catalogue.yaml when building.\n"
                        "#include \"drivers/{0}/catalogue_{0}.hpp\"\n\n"
                        "#include <array>\n\n"
                        "namespace gpucontainer::drivers {{\n"
                        "namespace {{\n\n"
                        "{1}"
                        "}} // namespace\n\n"
                        "model::Catalogue {0}_catalogue() {{ return {0}_rules; }}\n\n"
                        "}} // namespace gpucontainer::drivers\n",
                        file.vendor, rules_for(file.vendor + "_rules", file.rules));
}

/// "name = {A, B};" as a constant array.
template <typename T, typename Write>
std::string array_of(std::string_view type, std::string_view name, std::span<const T> all,
                     Write write)
{
    std::string source =
        base::format("inline constexpr std::array<{}, {}> {} = {{", type, all.size(), name);
    for (const T& one : all)
        source += base::format("\n    {},", write(one));
    return source + "};\n";
}

std::string write(const config::Maker::Model& model)
{
    return base::format("config::Maker::Model{{{}, {}}}", model.device, literal(model.name));
}

std::string write(const config::Maker::Node& node)
{
    return base::format("config::Maker::Node{{{}, {}, {}, {}, {}, {}}}", literal(node.path),
                        literal(node.in_class), literal(node.major),
                        node.minor ? std::to_string(*node.minor) : "std::nullopt",
                        literal(node.capability), node.optional);
}

std::string write(const config::Maker::Variable& variable)
{
    return base::format("config::Maker::Variable{{{}, {}, {}, {}, {}, {}}}", literal(variable.name),
                        literal(variable.reader), literal(variable.inside),
                        literal(variable.prefix), variable.always, variable.empty_is_unset);
}

/// A namespace with the tables of a described maker.
std::string tables_of(const config::CatalogueFile& file, std::string_view space)
{
    const config::Maker& maker = *file.maker;
    const auto any = [](const auto& one) { return write(one); };
    const auto text = [](std::string_view one) { return literal(one); };
    std::string source =
        base::format("namespace {} {{ // drivers/{}/catalogue.yaml\n\n", space, file.vendor);
    source += array_of("config::Maker::Model", "models", maker.models, any);
    source += array_of("config::Maker::Node", "nodes", maker.nodes, any);
    source += array_of("config::Maker::Variable", "variables", maker.variables, any);
    source += array_of("std::string_view", "needs", maker.needs, text);
    source += array_of("std::string_view", "directories", maker.directories, text);
    source += "inline " + rules_for("rules", file.rules);
    source += "inline constexpr config::Maker maker = {\n";
    for (const std::string_view one : {maker.name, maker.title, maker.kind, maker.module,
                                       maker.driver, maker.device_class, maker.device_name})
        source += base::format("    {},\n", literal(one));
    source += base::format("    {}, {}, {}, {}, {},\n", maker.pci_vendor,
                           maker.pci_class ? std::to_string(*maker.pci_class) : "std::nullopt",
                           maker.by_address, literal(maker.uuid), literal(maker.model));
    return source
           + base::format("    models, nodes, variables, needs, directories}};\n\n"
                          "}} // namespace {}\n\n",
                          space);
}

/// The header with the described makers.
std::string header_for(const std::vector<config::CatalogueFile>& makers)
{
    std::string source = "// Made from drivers/*/catalogue.yaml when building.\n"
                         "#pragma once\n\n"
                         "#include \"config/maker.hpp\"\n"
                         "#include \"model/catalogue.hpp\"\n\n"
                         "#include <array>\n\n"
                         "namespace gpucontainer::drivers {\n\n";
    std::string all;
    for (std::size_t i = 0; i < makers.size(); ++i) {
        const std::string space = base::format("maker_{}", i);
        source += tables_of(makers[i], space);
        all += base::format("    BuiltInMaker{{{0}::maker, {0}::rules}},\n", space);
    }
    return source
           + base::format(
               "struct BuiltInMaker {{\n"
               "    const config::Maker& maker;\n"
               "    model::Catalogue files;\n"
               "}};\n\n"
               "inline constexpr std::array<BuiltInMaker, {}> built_in_makers = {{\n{}}};\n\n"
               "}} // namespace gpucontainer::drivers\n",
               makers.size(), all);
}

std::string write(const drivers::FactTables::Release& release)
{
    return base::format("Release{{{}, {}, {}}}", literal(release.version), literal(release.cuda),
                        literal(release.least));
}

std::string write(const drivers::FactTables::Chip& chip)
{
    return base::format("Chip{{{}, {}, {}, {}, {}}}", literal(chip.name), chip.first, chip.last,
                        literal(chip.soc), literal(chip.arch));
}

/// The tables of a maker's facts, as its header declares them.
std::string source_for(const drivers::FactTables& tables)
{
    const auto any = [](const auto& one) { return write(one); };
    const auto text = [](const std::string& one) { return literal(one); };
    std::string source = base::format("// Made from drivers/{0}/facts.yaml when building.\n"
                                      "#include \"drivers/{0}/facts.hpp\"\n\n"
                                      "#include <array>\n\n"
                                      "namespace gpucontainer::drivers::{0} {{\n"
                                      "namespace {{\n\n",
                                      tables.vendor);
    using Tables = drivers::FactTables;
    source += array_of<Tables::Release>("Release", "release_rows", tables.releases, any);
    source += array_of<Tables::Release>("Release", "platform_rows", tables.platform_releases, any);
    source += array_of<Tables::Chip>("Chip", "chip_rows", tables.chips, any);
    for (std::size_t i = 0; i < tables.brands.size(); ++i)
        source += array_of<std::string>("std::string_view", base::format("brands_{}", i),
                                        tables.brands[i].brands, text);
    std::size_t row = 0;
    const auto brand = [&row](const Tables::Brand& one) {
        return base::format("Brand{{{}, brands_{}}}", literal(one.model), row++);
    };
    source += array_of<Tables::Brand>("Brand", "brand_rows", tables.brands, brand);
    const auto number = [](const Tables::BrandNumber& one) {
        return base::format("BrandNumber{{{}, {}, {}}}", one.number, literal(one.brand),
                            one.compat);
    };
    source +=
        array_of<Tables::BrandNumber>("BrandNumber", "number_rows", tables.brand_numbers, number);
    for (std::size_t i = 0; i < tables.compat_releases.size(); ++i)
        source += array_of<std::string>("std::string_view", base::format("compat_{}", i),
                                        tables.compat_releases[i].drivers, text);
    std::size_t compat_row = 0;
    const auto compat = [&compat_row](const Tables::CompatRelease& one) {
        return base::format("CompatRelease{{{}, compat_{}}}", literal(one.version), compat_row++);
    };
    source += array_of<Tables::CompatRelease>("CompatRelease", "compat_rows",
                                              tables.compat_releases, compat);
    const auto major = [](const Tables::Major& one) {
        return base::format("CudaMajor{{{}, {}}}", literal(one.cuda), literal(one.driver));
    };
    source += array_of<Tables::Major>("CudaMajor", "major_rows", tables.cuda_majors, major);
    const auto framework = [](const Tables::Framework& one) {
        return base::format("Framework{{{}, {}, {}}}", literal(one.package), literal(one.version),
                            literal(one.cuda));
    };
    source +=
        array_of<Tables::Framework>("Framework", "framework_rows", tables.frameworks, framework);
    return source
           + base::format(
               "\n}} // namespace\n\n"
               "std::span<const Release> releases() {{ return release_rows; }}\n"
               "std::span<const Release> platform_releases() {{ return platform_rows; }}\n"
               "std::span<const Chip> chips() {{ return chip_rows; }}\n"
               "std::span<const Brand> brands() {{ return brand_rows; }}\n"
               "std::span<const BrandNumber> brand_numbers() {{ return number_rows; }}\n"
               "std::span<const CompatRelease> compat_releases() {{ return compat_rows; }}\n"
               "std::span<const CudaMajor> cuda_majors() {{ return major_rows; }}\n"
               "std::span<const Framework> frameworks() {{ return framework_rows; }}\n\n"
               "}} // namespace gpucontainer::drivers::{}\n",
               tables.vendor);
}

/// Reads a file of a maker's folder by `parse`.
template <typename File>
Result<File> read_by(Result<File> (*parse)(std::string_view), const std::string& path)
{
    GPUCTR_TRY(const std::string yaml, base::read_file(path));
    GPUCTR_TRY(auto file, parse(yaml), "{}", path);
    if (base::name_of(base::directory_of(path)) != file.vendor)
        return Error(Errc::usage, base::format("{}: not in a folder called {}", path, file.vendor));
    return file;
}

Result<config::CatalogueFile> read(const std::string& path)
{
    return read_by<config::CatalogueFile>(config::parse_catalogue, path);
}

Result<void> write_to(const std::string& path, const std::string& source)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << source;
    file.close();
    if (!file)
        return Error(Errc::internal, base::format("write {}", path));
    return {};
}

Result<void> compile(const std::string& input, const std::string& output)
{
    GPUCTR_TRY(const auto file, read(input));
    if (file.rules.empty())
        return Error(Errc::usage, base::format("{}: no rules", input));
    return write_to(output, source_for(file));
}

Result<void> compile_facts(const std::string& input, const std::string& output)
{
    GPUCTR_TRY(const auto tables, read_by<drivers::FactTables>(drivers::parse_fact_tables, input));
    return write_to(output, source_for(tables));
}

Result<void> compile_makers(const std::string& output, std::span<char*> inputs)
{
    std::vector<config::CatalogueFile> makers;
    for (const char* const input : inputs) {
        GPUCTR_TRY(auto file, read(input));
        if (file.maker)
            makers.push_back(std::move(file));
    }
    return write_to(output, header_for(makers));
}

} // namespace
} // namespace gpucontainer

int main(int argc, char** argv)
try {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    using gpucontainer::compile;
    using gpucontainer::compile_facts;
    using gpucontainer::compile_makers;
    const bool is_of_makers = arguments.size() > 2 && arguments[1] == std::string_view("--makers");
    const bool is_of_facts = arguments.size() == 4 && arguments[1] == std::string_view("--facts");
    if (!is_of_makers && !is_of_facts && arguments.size() != 3) {
        (void)std::fputs("usage: gpuctr-catalogue-compiler CATALOGUE.yaml OUTPUT.cpp\n"
                         "       gpuctr-catalogue-compiler --facts FACTS.yaml OUTPUT.cpp\n"
                         "       gpuctr-catalogue-compiler --makers OUTPUT.hpp CATALOGUE.yaml...\n",
                         stderr);
        return 2;
    }
    const auto done = is_of_makers  ? compile_makers(arguments[2], arguments.subspan(3))
                      : is_of_facts ? compile_facts(arguments[2], arguments[3])
                                    : compile(arguments[1], arguments[2]);
    if (!done) {
        (void)std::fputs((done.error().message() + "\n").c_str(), stderr);
        return 1;
    }
    return 0;
} catch (const std::exception& exception) {
    (void)std::fputs(exception.what(), stderr);
    return 1;
}

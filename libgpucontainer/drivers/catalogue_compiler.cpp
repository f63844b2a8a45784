// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/try.hpp"
#include "config/catalogue_file.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Makes the built-in tables: reads a catalogue file while the library is built,
// so that the library parses none.

namespace gpucontainer {
namespace {

/// A C++ string literal; plain characters only, as the catalogue's are.
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

std::string source_for(const std::string& vendor, const std::vector<config::FileRule>& rules)
{
    std::string source =
        base::format("// Made from drivers/{0}/catalogue.yaml when building.\n"
                     "#include \"drivers/{0}/catalogue_{0}.hpp\"\n\n"
                     "#include <array>\n\n"
                     "namespace gpucontainer::drivers {{\n"
                     "namespace {{\n\n"
                     "constexpr auto rules = std::to_array<model::CatalogueRule>({{\n",
                     vendor);
    for (const config::FileRule& rule : rules)
        source += base::format(
            "    {{model::FileKind::{}, model::Capability::{}, model::Capability::{}, {},\n"
            "     {}, {}, {}, {}, {}, {}}},\n",
            kind_of(rule), rule.capability, rule.also, literal(rule.name), rule.entry,
            rule.unversioned, literal(rule.reason), literal(rule.icd), literal(rule.module),
            rule.own);
    source += base::format("}});\n\n"
                           "}} // namespace\n\n"
                           "model::Catalogue {}_catalogue() {{ return rules; }}\n\n"
                           "}} // namespace gpucontainer::drivers\n",
                           vendor);
    return source;
}

Result<void> compile(const std::string& input, const std::string& output)
{
    GPUCTR_TRY(const std::string yaml, base::read_file(input));
    GPUCTR_TRY(const auto catalogue, config::parse_catalogue(yaml), "{}", input);
    if (catalogue.rules.empty())
        return Error(Errc::usage, base::format("{}: no rules", input));

    std::ofstream file(output, std::ios::binary | std::ios::trunc);
    file << source_for(catalogue.vendor, catalogue.rules);
    file.close();
    if (!file)
        return Error(Errc::internal, base::format("write {}", output));
    return {};
}

} // namespace
} // namespace gpucontainer

int main(int argc, char** argv)
try {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (arguments.size() != 3) {
        (void)std::fputs("usage: gpuctr-catalogue-compiler CATALOGUE.yaml OUTPUT.cpp\n", stderr);
        return 2;
    }
    if (const auto done = gpucontainer::compile(arguments[1], arguments[2]); !done) {
        (void)std::fputs((done.error().message() + "\n").c_str(), stderr);
        return 1;
    }
    return 0;
} catch (const std::exception& exception) {
    (void)std::fputs(exception.what(), stderr);
    return 1;
}

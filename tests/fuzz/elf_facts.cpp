// SPDX-License-Identifier: MIT
#include "elf/dynamic_symbols.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/symbol_versions.hpp"
#include "elf/symbols.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

#include <algorithm>
#include <climits>

namespace gpucontainer::fuzz {
namespace {

bool is_clean(const std::string& text)
{
    return text.size() <= std::string::size_type{1U << 16U}
           && std::none_of(text.begin(), text.end(), base::is_control);
}

bool is_file_name(const std::string& text)
{
    return text.size() <= NAME_MAX && text != "." && text != ".."
           && text.find('/') == std::string::npos;
}

} // namespace

/// A library of an image or of a driver.
void run(std::string_view input)
{
    const auto file = memory_file(input);
    const auto facts = elf::read_facts(file.get());
    if (!facts)
        return;
    demand(is_clean(facts->soname) && is_file_name(facts->soname), "a soname is a file name");
    demand(std::all_of(facts->needed.begin(), facts->needed.end(), is_clean),
           "names of libraries are clean");
    demand(std::all_of(facts->runpath.begin(), facts->runpath.end(), is_clean)
               && std::all_of(facts->rpath.begin(), facts->rpath.end(), is_clean),
           "directories are clean");
    demand(is_clean(facts->interpreter) && facts->interpreter.size() < PATH_MAX,
           "an interpreter is a path");
    (void)elf::machine_name(facts->machine);
    (void)elf::is_for(*facts, elf::own_machine());
    if (const auto needed = elf::read_needed_versions(file.get()))
        for (const elf::NeededVersion& version : *needed)
            demand(is_clean(version.library) && is_clean(version.version),
                   "needed versions are clean");
    if (const auto versions = elf::read_defined_versions(file.get()))
        demand(std::all_of(versions->begin(), versions->end(), is_clean), "versions are clean");
    if (const auto symbols = elf::read_symbols(file.get(), "hsa"))
        demand(std::all_of(symbols->defined.begin(), symbols->defined.end(),
                           [](const std::string& name) { return name.starts_with("hsa"); }),
               "symbols begin as was asked for");

    if (const auto symbols = elf::read_symbols_of_version(file.get(), "GLIBC_PRIVATE"))
        demand(std::all_of(symbols->defined.begin(), symbols->defined.end(), is_clean)
                   && std::all_of(symbols->undefined.begin(), symbols->undefined.end(), is_clean),
               "symbols of a version are clean");
    if (const auto notes = elf::read_notes(file.get(), "NVIDIA Corporation"))
        demand(notes->size() <= input.size(), "notes are in the file");
    std::size_t names = 0;
    const auto visited = elf::visit_dynamic_symbols(
        file.get(), [&](const elf::DynamicSymbol& symbol) { names += symbol.name.size(); });
    demand(!visited || names <= 2 * elf::largest_dynamic_names, "names of symbols are limited");
    const auto again = elf::read_facts(file.get());
    demand(again && again->soname == facts->soname && again->needed == facts->needed
               && again->runpath == facts->runpath && again->interpreter == facts->interpreter,
           "a file says the same twice");
}

} // namespace gpucontainer::fuzz

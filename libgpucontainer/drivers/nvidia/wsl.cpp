// SPDX-License-Identifier: MIT
#include "drivers/nvidia/wsl.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "drivers/nvidia/stack.hpp"
#include "drivers/wsl.hpp"
#include "search/library_graph.hpp"
#include "search/site_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::CatalogueRule;
using model::DriverStack;
using model::Finding;
using search::ClosedSet;
using search::LibraryGraph;

namespace {

constexpr const char* package_stem = "nv";
constexpr const char* main_soname = "libcuda.so.1";
constexpr const char* wsl_library = "libcuda.so.1.1";

/// Whether a path belongs to Windows' driver, not to a Linux driver that is installed too.
bool is_of_windows(const std::string& path) { return base::is_below(path, "/usr/lib/wsl"); }

bool add_library(LibraryGraph& graph, const CatalogueRule& rule)
{
    const std::string name(rule.name);
    if (graph.add_library(rule, base::format("{}/{}", wsl::library_directory, name), name))
        return true;
    // A container may have the package's own libraries instead.
    return std::ranges::any_of(graph.cached(name), [&](const std::string& path) {
        return is_of_windows(path) && graph.add_library(rule, path, name);
    });
}

void add_tool(LibraryGraph& graph, const CatalogueRule& rule,
              const std::vector<wsl::Package>& packages)
{
    if (graph.add_tool(rule, base::format("{}/{}", wsl::library_directory, rule.name)))
        return;
    for (const wsl::Package& package : packages)
        if (graph.add_tool(rule, base::format("{}/{}", package.directory, rule.name)))
            return;
}

ClosedSet find_files(const host::DriverRoot& root, model::Catalogue catalogue,
                     const std::vector<wsl::Package>& packages)
{
    LibraryGraph graph(root, catalogue, {wsl::library_directory});
    model::Findings missing;
    for (const CatalogueRule& rule : catalogue) {
        if (rule.capability == model::Capability::none)
            continue;
        if (rule.kind == model::FileKind::tool)
            add_tool(graph, rule, packages);
        if (rule.kind == model::FileKind::library && !add_library(graph, rule) && rule.entry)
            missing.push_back({model::FindingCode::not_installed, std::string(rule.name),
                               "not installed", wsl::library_directory});
    }
    ClosedSet set = graph.take();
    std::ranges::move(missing, std::back_inserter(set.findings));
    return set;
}

Error no_main_library(const model::Findings& findings)
{
    std::string why;
    for (const Finding& one : findings)
        if (one.object == main_soname && one.code != model::FindingCode::not_installed)
            why += base::format("{}{} {}", why.empty() ? ": " : "; ", one.evidence, one.text);
    return Error(Errc::driver,
                 base::format("no {} in {}{}", main_soname, wsl::library_directory, why))
        .with_object(main_soname)
        .with_hint("update WSL and NVIDIA's driver for Windows; `wsl --shutdown` mounts their "
                   "files again");
}

} // namespace

Result<std::optional<DriverStack>> detect_wsl(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, wsl::loaded_version(sources.system_root));
    if (!loaded)
        return std::optional<DriverStack>();
    const auto packages = wsl::packages(sources.driver_root, package_stem, wsl_library);
    if (packages.empty())
        return std::optional<DriverStack>(); // GPUs of others
    if (!sources.driver_version.empty())
        return Error(Errc::usage, base::format("driver version {}: the driver is that of Windows",
                                               sources.driver_version))
            .with_object(sources.driver_version)
            .with_argument("driver_version")
            .with_hint("leave the version out: Windows chooses it");

    DriverStack stack = new_stack(sources);
    const search::MergedCatalogue catalogue(stack.vendor, nvidia_catalogue(), sources.site);
    const auto rules = catalogue.of_driver();
    ClosedSet set = find_files(sources.driver_root, rules, packages);
    GPUCTR_CHECK(sources.driver_root.check());
    if (std::ranges::find(set.files, main_soname, &model::DriverFile::soname) == set.files.end())
        return no_main_library(set.findings);
    stack.files = std::move(set.files);
    stack.library_directory = std::move(set.library_directory);
    stack.findings = std::move(set.findings);
    std::ranges::copy(sources.site.findings, std::back_inserter(stack.findings));
    search::add_site_files(sources.driver_root, catalogue.of_site(), is_driver_version, stack);
    GPUCTR_CHECK(wsl::add_to(stack, sources, *loaded, packages));
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "model/finding.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpucontainer::model {
namespace {

struct Row {
    FindingCode code;
    std::string_view name;
    Severity severity;
};

// In the order of the enumerators.
constexpr std::array rows = {
    Row{FindingCode::not_installed, "not_installed", Severity::note},
    Row{FindingCode::file_unusable, "file_unusable", Severity::note},
    Row{FindingCode::version_differs, "version_differs", Severity::note},
    Row{FindingCode::file_left_out, "file_left_out", Severity::note},
    Row{FindingCode::gpu_unusable, "gpu_unusable", Severity::note},
    Row{FindingCode::node_missing, "node_missing", Severity::note},
    Row{FindingCode::node_inaccessible, "node_inaccessible", Severity::note},
    Row{FindingCode::node_left_out, "node_left_out", Severity::note},
    Row{FindingCode::rule_ignored, "rule_ignored", Severity::note},
    Row{FindingCode::variable_ignored, "variable_ignored", Severity::note},
    Row{FindingCode::compat_decided, "compat_decided", Severity::note},
    Row{FindingCode::c_library_decided, "c_library_decided", Severity::note},
    Row{FindingCode::toolkit_decided, "toolkit_decided", Severity::note},
    Row{FindingCode::module_loaded, "module_loaded", Severity::note},
    Row{FindingCode::node_made, "node_made", Severity::note},
    Row{FindingCode::cdi_after_cache, "cdi_after_cache", Severity::note},
    Row{FindingCode::identity_replaced, "identity_replaced", Severity::note},
    Row{FindingCode::not_recorded, "not_recorded", Severity::note},
    Row{FindingCode::container_need, "container_need", Severity::need},
    Row{FindingCode::driver_unusable, "driver_unusable", Severity::warning},
    Row{FindingCode::vendor_left_out, "vendor_left_out", Severity::warning},
    Row{FindingCode::no_gpu, "no_gpu", Severity::warning},
    Row{FindingCode::map_unfit, "map_unfit", Severity::warning},
    Row{FindingCode::compat_forced, "compat_forced", Severity::warning},
    Row{FindingCode::c_library_unfit, "c_library_unfit", Severity::warning},
    Row{FindingCode::toolkit_unfit, "toolkit_unfit", Severity::warning},
    Row{FindingCode::search_differs, "search_differs", Severity::warning},
    Row{FindingCode::files_left_out, "files_left_out", Severity::warning},
    Row{FindingCode::library_unloadable, "library_unloadable", Severity::warning},
    Row{FindingCode::library_missing, "library_missing", Severity::warning},
    Row{FindingCode::releases_differ, "releases_differ", Severity::warning},
    Row{FindingCode::compute_node_unusable, "compute_node_unusable", Severity::warning},
    Row{FindingCode::node_forbidden, "node_forbidden", Severity::warning},
    Row{FindingCode::variable_contradicted, "variable_contradicted", Severity::warning},
    Row{FindingCode::device_unknown, "device_unknown", Severity::warning},
    Row{FindingCode::node_left, "node_left", Severity::warning},
    Row{FindingCode::namespace_gone, "namespace_gone", Severity::warning},
    Row{FindingCode::root_gone, "root_gone", Severity::warning},
    Row{FindingCode::cdi_outdated, "cdi_outdated", Severity::warning},
    Row{FindingCode::cdi_left_out, "cdi_left_out", Severity::warning},
    Row{FindingCode::part_missing, "part_missing", Severity::error},
    Row{FindingCode::driver_version, "driver_version", Severity::error},
    Row{FindingCode::driver_not_loaded, "driver_not_loaded", Severity::error},
    Row{FindingCode::earlier_boot, "earlier_boot", Severity::error},
    Row{FindingCode::interrupted, "interrupted", Severity::error},
    Row{FindingCode::partly_undone, "partly_undone", Severity::error},
    Row{FindingCode::journal_damaged, "journal_damaged", Severity::error},
    Row{FindingCode::locked, "locked", Severity::error},
    Row{FindingCode::device_denied, "device_denied", Severity::error},
    Row{FindingCode::cdi_invalid, "cdi_invalid", Severity::error},
    Row{FindingCode::cdi_conflict, "cdi_conflict", Severity::error},
    Row{FindingCode::gpu_off_bus, "gpu_off_bus", Severity::error},
    Row{FindingCode::gpu_without_driver, "gpu_without_driver", Severity::error},
    Row{FindingCode::gpu_excluded, "gpu_excluded", Severity::error},
    Row{FindingCode::access_denied, "access_denied", Severity::error},
    Row{FindingCode::request_refused, "request_refused", Severity::error},
    Row{FindingCode::namespaces_forbidden, "namespaces_forbidden", Severity::error},
    Row{FindingCode::cdi_missing, "cdi_missing", Severity::error},
    Row{FindingCode::program_missing, "program_missing", Severity::error},
    Row{FindingCode::program_unstartable, "program_unstartable", Severity::error},
    Row{FindingCode::library_not_found, "library_not_found", Severity::error},
    Row{FindingCode::version_not_found, "version_not_found", Severity::error},
    Row{FindingCode::symbol_not_found, "symbol_not_found", Severity::error},
    Row{FindingCode::library_shadowed, "library_shadowed", Severity::error},
    Row{FindingCode::service_not_running, "service_not_running", Severity::error},
    Row{FindingCode::kernel_unready, "kernel_unready", Severity::error},
    Row{FindingCode::proc_missing, "proc_missing", Severity::error},
    Row{FindingCode::driver_too_old, "driver_too_old", Severity::error},
    Row{FindingCode::gpus_hidden, "gpus_hidden", Severity::error},
    Row{FindingCode::instance_incomplete, "instance_incomplete", Severity::error},
    Row{FindingCode::code_missing, "code_missing", Severity::error},
    Row{FindingCode::feature_missing, "feature_missing", Severity::error},
    Row{FindingCode::search_unfinished, "search_unfinished", Severity::error},
};

constexpr bool is_in_order()
{
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].code != static_cast<FindingCode>(i))
            return false;
    return static_cast<std::size_t>(FindingCode::search_unfinished) + 1 == rows.size();
}
static_assert(is_in_order());

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> severity_names = {"note", "need", "warning", "error"};

} // namespace

std::string_view name(Severity severity)
{
    return severity_names.at(static_cast<std::size_t>(severity));
}

std::string_view name(FindingCode code) { return rows.at(static_cast<std::size_t>(code)).name; }

std::optional<FindingCode> parse_finding_code(std::string_view text)
{
    const auto* const found = std::ranges::find(rows, text, &Row::name);
    return found == rows.end() ? std::nullopt : std::optional(found->code);
}

Severity severity_of(FindingCode code) { return rows.at(static_cast<std::size_t>(code)).severity; }

} // namespace gpucontainer::model

// SPDX-License-Identifier: MIT
#include "export/cdi.hpp"
#include "apply/tree.hpp"
#include "base/format.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "cdi/install.hpp"
#include "cdi/text.hpp"
#include "export/json.hpp"
#include "plan/planned.hpp"
#include "privilege/process.hpp"

using namespace gpucontainer;

namespace {

struct Asked {
    exports::CdiRequest request;
    bool yaml = false;
};

Result<Asked> read_cdi_options(const gpuctr_cdi_options* options)
{
    constexpr std::uint32_t known = GPUCTR_CDI_YAML | GPUCTR_CDI_GROUPS;
    GPUCTR_TRY(const auto given, capi::read_options(options));
    if ((given.flags & ~known) != 0 || given.reserved != 0)
        return Error(Errc::usage, "CDI options: an unknown flag is set")
            .with_argument(given.reserved != 0 ? "reserved" : "flags");
    Asked asked;
    asked.request.version = capi::text_of(given.version);
    asked.request.files_directory =
        given.files_dir != nullptr ? given.files_dir : capi::usual_files_directory;
    if (!asked.request.files_directory.starts_with('/'))
        return Error(Errc::usage, "CDI options: the directory of files is no absolute path")
            .with_argument("files_dir");
    asked.request.groups = (given.flags & GPUCTR_CDI_GROUPS) != 0;
    asked.yaml = (given.flags & GPUCTR_CDI_YAML) != 0;
    GPUCTR_TRY(asked.request.staged_tree, apply::staged_path(capi::text_of(given.staged_tree)));
    for (const char* const* word = given.hook; word != nullptr && *word != nullptr; ++word)
        asked.request.hook.emplace_back(*word);
    if (given.hook != nullptr && (given.hook[0] == nullptr || given.hook[0][0] != '/'))
        return Error(Errc::usage, "CDI options: the hook is no absolute path")
            .with_argument("hook");
    if (given.hook != nullptr && !asked.request.staged_tree.empty())
        return Error(Errc::usage, "CDI options: a hook needs no staged tree").with_argument("hook");
    return asked;
}

/// ".json" or ".yaml", which engines tell the form by.
Result<bool> is_yaml(std::string_view path)
{
    if (!path.starts_with('/'))
        return Error(Errc::usage, base::format("{}: no absolute path", path)).with_argument("path");
    if (!path.ends_with(".json") && !path.ends_with(".yaml"))
        return Error(Errc::usage, base::format("{}: engines read files whose names end in .json or "
                                               ".yaml",
                                               path))
            .with_argument("path");
    return path.ends_with(".yaml");
}

Result<cdi::Outcome> install(const gpuctr_plan& plan, const char* path, Asked asked)
{
    GPUCTR_TRY(const bool yaml, is_yaml(path));
    GPUCTR_CHECK(plan::prove(plan.planned));
    GPUCTR_TRY(auto document, exports::cdi_document(plan.planned, asked.request));
    cdi::Installation installation;
    installation.path = path;
    installation.text =
        yaml ? cdi::to_yaml(document.specification) : cdi::to_json(document.specification);
    installation.files = std::move(document.files);
    installation.files_directory = asked.request.files_directory;
    for (const model::DriverStack& driver : *plan.planned.drivers)
        if (driver.cdi_kind == document.specification.kind)
            installation.marks = exports::cdi_marks(driver);
    installation.specification = std::move(document.specification);
    return cdi::install(installation);
}

/// Compares specifications with this host.
void report_outdated(cdi::Listing& listing, const gpuctr_host* host, const std::string& directory)
{
    for (const cdi::ListedFile& file : listing.files) {
        cdi::report_outdated(file, listing.findings);
        cdi::report_limits(file, listing.findings);
        const std::string& kind = file.specification.kind;
        std::vector<cdi::Mark> marks;
        for (const model::DriverStack& driver :
             host != nullptr ? *host->host.drivers : std::vector<model::DriverStack>())
            if (driver.cdi_kind == kind)
                marks = exports::cdi_marks(driver);
        cdi::report_changes(file.path, kind, directory, host != nullptr ? &marks : nullptr,
                            listing.findings);
    }
}

} // namespace

gpuctr_status gpuctr_plan_to_cdi(const gpuctr_plan* plan, const gpuctr_cdi_options* options,
                                 char** ret_document, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || ret_document == nullptr)
            return Error(Errc::usage, "gpuctr_plan_to_cdi: plan or ret_document is missing");
        GPUCTR_TRY(const Asked asked, read_cdi_options(options));
        GPUCTR_TRY(const auto document, exports::cdi_document(plan->planned, asked.request));
        *ret_document = capi::to_c_string(asked.yaml ? cdi::to_yaml(document.specification)
                                                     : cdi::to_json(document.specification));
        return {};
    });
}

gpuctr_status gpuctr_plan_install_cdi(const gpuctr_plan* plan, const char* path,
                                      const gpuctr_cdi_options* options, uint32_t* ret_outcome,
                                      gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || path == nullptr)
            return Error(Errc::usage, "gpuctr_plan_install_cdi: plan or path is missing");
        GPUCTR_TRY(Asked asked, read_cdi_options(options));
        GPUCTR_CHECK(privilege::refuse_raised(false));
        GPUCTR_TRY(const cdi::Outcome outcome, install(*plan, path, std::move(asked)));
        if (ret_outcome != nullptr)
            *ret_outcome =
                outcome == cdi::Outcome::written ? GPUCTR_CDI_WRITTEN : GPUCTR_CDI_UNCHANGED;
        return {};
    });
}

gpuctr_status gpuctr_cdi_list_open(const char* const* paths, const gpuctr_host* host,
                                   const char* files_dir, gpuctr_cdi_list** ret_list,
                                   gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_list == nullptr)
            return Error(Errc::usage, "gpuctr_cdi_list_open: ret_list is missing");
        std::vector<std::string> wanted(cdi::usual_directories().begin(),
                                        cdi::usual_directories().end());
        if (paths != nullptr)
            wanted.clear();
        for (; paths != nullptr && *paths != nullptr; ++paths)
            wanted.emplace_back(*paths);
        cdi::Listing listing = cdi::read_paths(wanted);
        report_outdated(listing, host,
                        files_dir != nullptr ? files_dir : capi::usual_files_directory);
        *ret_list = new gpuctr_cdi_list{std::move(listing)};
        return {};
    });
}

void gpuctr_cdi_list_free(gpuctr_cdi_list* list) { delete list; }

gpuctr_status gpuctr_cdi_list_to_json(const gpuctr_cdi_list* list, char** ret_json,
                                      gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (list == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_cdi_list_to_json: list or ret_json is missing");
        *ret_json = capi::to_c_string(exports::cdi_listing_to_json(list->listing));
        return {};
    });
}

size_t gpuctr_cdi_list_device_count(const gpuctr_cdi_list* list)
{
    return list->listing.devices.size();
}
const gpuctr_cdi_device* gpuctr_cdi_list_device_at(const gpuctr_cdi_list* list, size_t index)
{
    return capi::element_at<gpuctr_cdi_device>(list->listing.devices, index);
}
size_t gpuctr_cdi_list_finding_count(const gpuctr_cdi_list* list)
{
    return list->listing.findings.size();
}
const gpuctr_finding* gpuctr_cdi_list_finding_at(const gpuctr_cdi_list* list, size_t index)
{
    return capi::element_at<gpuctr_finding>(list->listing.findings, index);
}

const char* gpuctr_cdi_device_name(const gpuctr_cdi_device* device) { return device->name.c_str(); }
const char* gpuctr_cdi_device_path(const gpuctr_cdi_device* device) { return device->path.c_str(); }
const char* gpuctr_cdi_device_state(const gpuctr_cdi_device* device)
{
    return cdi::name(device->state).data(); // of a literal
}

// SPDX-License-Identifier: MIT
#include "capi/request.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "privilege/label.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace gpucontainer::capi {
namespace {

Result<void> check_numbers(const gpuctr_request& given)
{
    if (given.write > GPUCTR_WRITE_ALWAYS || given.backend > GPUCTR_BACKEND_LEGACY
        || given.layout > GPUCTR_LAYOUT_MERGED || given.vendor_libs > GPUCTR_VENDOR_LIBS_NONE)
        return Error(Errc::usage, "gpuctr_plan_create: a field of the request is out of range");
    if ((given.flags & ~GPUCTR_REQUEST_LOCK) != 0 || given.reserved != 0)
        return Error(Errc::usage, "gpuctr_plan_create: an unknown flag of the request is set");
    return {};
}

void assign(std::string& to, const char* given)
{
    if (given != nullptr)
        to = given;
}

std::vector<std::string> strings(const char* const* list)
{
    std::vector<std::string> strings;
    for (; list != nullptr && *list != nullptr; ++list)
        strings.emplace_back(*list);
    return strings;
}

void read_environment(const char* const* variables, plan::Request& request)
{
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view text = *variables;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos)
            request.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
}

} // namespace

Result<detect::Detection> read_detection(const gpuctr_host_options* options)
{
    GPUCTR_TRY(const auto given, read_options(options));
    if ((given.flags & ~GPUCTR_HOST_FILES_ALONE) != 0 || given.reserved != 0)
        return Error(Errc::usage, "options of the host: an unknown flag is set");
    detect::Detection detection;
    detection.vendors = strings(given.vendors);
    detection.all_vendors =
        std::erase(detection.vendors, GPUCTR_VENDOR_ANY) > 0 || detection.vendors.empty();
    detection.files_alone = (given.flags & GPUCTR_HOST_FILES_ALONE) != 0;
    assign(detection.driver_root, given.driver_root);
    detection.catalogues = strings(given.catalogues);
    assign(detection.catalogue_directory, given.catalogue_dir);
    assign(detection.dev_root, given.dev_root);
    if (given.driver_version != nullptr)
        detection.driver_version = given.driver_version;
    GPUCTR_CHECK(detect::check(detection));
    return detection;
}

Result<plan::Request> read_request(const gpuctr_request& given)
{
    GPUCTR_CHECK(check_numbers(given));
    plan::Request request;
    assign(request.devices, given.devices);
    assign(request.devices_name, given.devices_name);
    assign(request.staged_tree, given.staged_tree);
    if (!request.staged_tree.empty()) {
        GPUCTR_TRY(request.staged_tree, read_staged_tree(request.staged_tree));
    }
    assign(request.capabilities, given.driver_capabilities);
    request.write = static_cast<plan::Write>(given.write);
    assign(request.allowed_devices, given.allowed_devices);
    request.layout = static_cast<plan::Layout>(given.layout);
    request.vendor_libs = static_cast<plan::VendorLibs>(given.vendor_libs);
    request.lock = (given.flags & GPUCTR_REQUEST_LOCK) != 0;
    assign(request.mount_label, given.mount_label);
    GPUCTR_CHECK(privilege::check_label(request.mount_label));
    if (given.tree_path != nullptr)
        request.tree_path = given.tree_path;
    read_environment(given.environment, request);
    return request;
}

Result<std::string> read_staged_tree(const std::string& given)
{
    const auto names = base::split(given, '/');
    const bool is_absolute = given.starts_with('/');
    if (!is_absolute || std::ranges::find(names, "..") != names.end())
        return Error(Errc::usage,
                     base::format("staged tree '{}': {}", given,
                                  is_absolute ? "'..' in the path" : "not an absolute path"))
            .with_object(given)
            .with_hint("name the directory by its path from /, without '..'");
    std::string path;
    for (const std::string_view name : names)
        if (!name.empty() && name != ".")
            path += base::format("/{}", name);
    if (path.empty())
        return Error(Errc::usage,
                     base::format("staged tree '{}': the tree would cover the whole host", given))
            .with_object(given)
            .with_hint("name a directory of its own, such as /run/gpucontainer/tree");
    return path;
}

} // namespace gpucontainer::capi

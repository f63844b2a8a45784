// SPDX-License-Identifier: MIT
#include "capi/request.hpp"

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "plan/extras.hpp"
#include "plan/requirements.hpp"
#include "privilege/label.hpp"

#include <string_view>
#include <vector>

namespace gpucontainer::capi {
namespace {

Result<void> check_numbers(const gpuctr_request& given)
{
    const char* const out_of_range = given.write > GPUCTR_WRITE_LAYER              ? "write"
                                     : given.layout > GPUCTR_LAYOUT_BINDS          ? "layout"
                                     : given.vendor_libs > GPUCTR_VENDOR_LIBS_NONE ? "vendor_libs"
                                     : given.compat > GPUCTR_COMPAT_ALWAYS         ? "compat"
                                     : given.glibc > GPUCTR_GLIBC_AUTO             ? "glibc"
                                                                                   : nullptr;
    if (out_of_range != nullptr)
        return Error(Errc::usage, "gpuctr_plan_create: a field of the request is out of range")
            .with_argument(out_of_range);
    constexpr std::uint32_t known =
        GPUCTR_REQUEST_LOCK | GPUCTR_REQUEST_NAMES_DEVICES | GPUCTR_REQUEST_NAMES_CAPABILITIES;
    if ((given.flags & ~known) != 0)
        return Error(Errc::usage, "gpuctr_plan_create: an unknown flag of the request is set")
            .with_argument("flags");
    return {};
}

/// A policy that is made of an empty list must not allow all.
Result<void> check_policy(const char* allowed_devices)
{
    if (allowed_devices == nullptr || *allowed_devices != '\0')
        return {};
    return Error(Errc::usage, "allowed devices: the list is empty")
        .with_argument("allowed_devices")
        .with_hint("NULL allows all devices, and \"none\" allows none");
}

void assign(std::string& to, const char* given)
{
    if (given != nullptr)
        to = given;
}

/// Of several values the first counts, as for getenv().
void read_environment(const char* const* variables, plan::Environment& environment)
{
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view text = *variables;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos)
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
}

/// Of several values the last counts.
void read_container_environment(const char* const* variables, plan::Environment& environment)
{
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view text = *variables;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos)
            environment.insert_or_assign(std::string(text.substr(0, equals)),
                                         std::string(text.substr(equals + 1)));
    }
}

} // namespace

std::vector<std::string> strings(const char* const* list)
{
    std::vector<std::string> strings;
    for (; list != nullptr && *list != nullptr; ++list)
        strings.emplace_back(*list);
    return strings;
}

Result<detect::Detection> read_detection(const gpuctr_host_options* options)
{
    GPUCTR_TRY(const auto given, read_options(options));
    constexpr std::uint32_t known = GPUCTR_HOST_FILES_ALONE | GPUCTR_HOST_WHOLE_BUS;
    if ((given.flags & ~known) != 0 || given.reserved != 0)
        return Error(Errc::usage, "options of the host: an unknown flag is set")
            .with_argument(given.reserved != 0 ? "reserved" : "flags");
    detect::Detection detection;
    detection.vendors = strings(given.vendors);
    detection.all_vendors =
        std::erase(detection.vendors, GPUCTR_VENDOR_ANY) > 0 || detection.vendors.empty();
    detection.files_alone = (given.flags & GPUCTR_HOST_FILES_ALONE) != 0;
    detection.whole_bus = (given.flags & GPUCTR_HOST_WHOLE_BUS) != 0;
    assign(detection.driver_root, given.driver_root);
    detection.catalogues = strings(given.catalogues);
    assign(detection.catalogue_directory, given.catalogue_dir);
    assign(detection.dev_root, given.dev_root);
    assign(detection.mig_map, given.mig_map);
    if (given.driver_version != nullptr)
        detection.driver_version = given.driver_version;
    GPUCTR_CHECK(detect::check(detection));
    return detection;
}

Result<plan::Request> read_request(const gpuctr_request& given)
{
    GPUCTR_CHECK(check_numbers(given));
    GPUCTR_CHECK(check_policy(given.allowed_devices));
    plan::Request request;
    assign(request.devices, given.devices);
    assign(request.devices_name, given.devices_name);
    assign(request.capabilities, given.driver_capabilities);
    request.write = static_cast<plan::Write>(given.write);
    assign(request.allowed_devices, given.allowed_devices);
    request.layout = static_cast<plan::Layout>(given.layout);
    request.vendor_libs = static_cast<plan::VendorLibs>(given.vendor_libs);
    request.compat = static_cast<plan::Compat>(given.compat);
    assign(request.toolkit.wanted, given.toolkit);
    request.glibc.wanted = given.glibc == GPUCTR_GLIBC_AUTO;
    assign(request.glibc.program, given.program);
    request.lock = (given.flags & GPUCTR_REQUEST_LOCK) != 0;
    assign(request.mount_label, given.mount_label);
    GPUCTR_CHECK(privilege::check_label(request.mount_label));
    if (given.tree_path != nullptr)
        request.tree_path = given.tree_path;
    read_environment(given.environment, request.environment);
    read_container_environment(given.container_environment, request.container);
    request.names_devices = (given.flags & GPUCTR_REQUEST_NAMES_DEVICES) != 0;
    request.names_capabilities = (given.flags & GPUCTR_REQUEST_NAMES_CAPABILITIES) != 0;
    for (const std::string& text : strings(given.requirements)) {
        GPUCTR_TRY(auto expression, about("requirements", plan::parse_requirement(text)));
        request.requirements.push_back(std::move(expression));
    }
    if (given.extras != nullptr) {
        GPUCTR_TRY(request.extras, about("extras", plan::parse_extras(given.extras)));
    }
    return request;
}

Result<mount::Backend> read_backend(std::uint32_t given)
{
    switch (given) {
    case GPUCTR_BACKEND_AUTO:
        return mount::probe_backend();
    case GPUCTR_BACKEND_DETACHED:
        return about("backend", mount::require_backend(mount::Backend::detached));
    case GPUCTR_BACKEND_ASSEMBLED:
        return about("backend", mount::require_backend(mount::Backend::assembled));
    case GPUCTR_BACKEND_LEGACY:
        return mount::Backend::legacy;
    default:
        return Error(Errc::usage, "options: backend is out of range").with_argument("backend");
    }
}

} // namespace gpucontainer::capi

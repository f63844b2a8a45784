// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "cdi/chosen.hpp"
#include "cdi/merged.hpp"
#include "drivers/registry.hpp"
#include "plan/planned.hpp"

using namespace gpucontainer;

namespace {

constexpr std::uint32_t hook_flags =
    GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS | GPUCTR_REQUEST_KEEP_ALL_HOOKS;

/// What a specification decides is asked of nobody else.
Result<void> refuse_foreign_fields(const gpuctr_request& given)
{
    const bool names_parts = given.driver_capabilities != nullptr || given.extras != nullptr;
    const char* const foreign = names_parts && given.extras != nullptr   ? "extras"
                                : names_parts                            ? "driver_capabilities"
                                : given.environment != nullptr           ? "environment"
                                : given.layout != 0                      ? "layout"
                                : given.vendor_libs != 0                 ? "vendor_libs"
                                : given.allowed_devices != nullptr       ? "allowed_devices"
                                : given.tree_path != nullptr             ? "tree_path"
                                : given.requirements != nullptr          ? "requirements"
                                : given.toolkit != nullptr               ? "toolkit"
                                : given.glibc != 0                       ? "glibc"
                                : given.program != nullptr               ? "program"
                                : given.container_environment != nullptr ? "container_environment"
                                                                         : nullptr;
    if (foreign == nullptr)
        return {};
    return Error(Errc::usage,
                 "gpuctr_plan_create_from_cdi: the specifications of the devices decide "
                 "about a field of the request")
        .with_argument(foreign);
}

std::vector<std::string> names_of(const char* devices)
{
    std::vector<std::string> names;
    for (const std::string_view name : base::split(std::string_view(capi::text_of(devices)), ','))
        if (!base::trim(name).empty())
            names.emplace_back(base::trim(name));
    return names;
}

cdi::KeptHooks kept_hooks(std::uint32_t flags)
{
    if ((flags & GPUCTR_REQUEST_KEEP_ALL_HOOKS) != 0)
        return cdi::KeptHooks::all;
    return (flags & GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS) != 0 ? cdi::KeptHooks::unknown
                                                            : cdi::KeptHooks::none;
}

} // namespace

gpuctr_status gpuctr_plan_create_from_cdi(const gpuctr_cdi_list* list,
                                          const gpuctr_request* request, int rootfs_fd,
                                          gpuctr_plan** ret_plan, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (list == nullptr || request == nullptr || ret_plan == nullptr)
            return Error(Errc::usage,
                         "gpuctr_plan_create_from_cdi: list, request or ret_plan is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(auto given, capi::read_options(request));
        GPUCTR_CHECK(refuse_foreign_fields(given));
        const cdi::KeptHooks kept = kept_hooks(given.flags);
        if (kept != cdi::KeptHooks::none && rootfs_fd >= 0)
            return Error(Errc::usage,
                         "gpuctr_plan_create_from_cdi: nobody would run the hooks that "
                         "are kept")
                .with_argument("flags");
        given.flags &= ~hook_flags;
        GPUCTR_TRY(plan::Request chosen, capi::read_request(given));
        GPUCTR_TRY(const auto devices,
                   about("devices", cdi::choose(list->listing, names_of(given.devices))));
        GPUCTR_TRY(auto merged, cdi::merge(devices, kept, drivers::task_of));
        GPUCTR_TRY(auto planned,
                   plan::make_cdi_plan(std::move(merged), std::move(chosen), rootfs_fd));
        auto rules = capi::rules_of(planned.plan);
        *ret_plan = new gpuctr_plan{std::move(planned), std::move(rules)};
        return {};
    });
}

// SPDX-License-Identifier: MIT
#include "apply/allowed_devices.hpp"
#include "apply/apply.hpp"
#include "apply/tree.hpp"
#include "apply/without_journal.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/report.hpp"
#include "capi/request.hpp"
#include "export/json.hpp"
#include "import/device_rules.hpp"
#include "plan/planned.hpp"
#include "plan/requirements.hpp"
#include "privilege/process.hpp"

using namespace gpucontainer;

namespace {

Result<apply::Target> read_apply_options(int rootfs_fd, const gpuctr_apply_options& given)
{
    constexpr std::uint32_t known = GPUCTR_APPLY_IN_PROCESS | GPUCTR_APPLY_SETUID
                                    | GPUCTR_APPLY_WITHOUT_JOURNAL | GPUCTR_APPLY_NO_REPLACE
                                    | GPUCTR_APPLY_OVER_COPIES | GPUCTR_APPLY_DRY_RUN;
    if (given.reserved != 0)
        return Error(Errc::usage, "apply options: reserved is not zero").with_argument("reserved");
    GPUCTR_TRY(auto target, capi::read_target(rootfs_fd, given, known, GPUCTR_APPLY_IN_PROCESS));
    target.for_setuid = (given.flags & GPUCTR_APPLY_SETUID) != 0;
    target.no_replace = (given.flags & GPUCTR_APPLY_NO_REPLACE) != 0;
    target.dry_run = (given.flags & GPUCTR_APPLY_DRY_RUN) != 0;
    target.over_copies = (given.flags & GPUCTR_APPLY_OVER_COPIES) != 0;
    GPUCTR_CHECK(privilege::refuse_raised(target.for_setuid));
    GPUCTR_TRY(target.staged_tree,
               about("staged_tree", apply::staged_path(capi::text_of(given.staged_tree))));
    GPUCTR_TRY(target.backend, capi::read_backend(given.backend));
    return target;
}

} // namespace

gpuctr_status gpuctr_plan_create(const gpuctr_host* host, const gpuctr_request* request,
                                 int rootfs_fd, gpuctr_plan** ret_plan, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (host == nullptr || ret_plan == nullptr)
            return Error(Errc::usage, "gpuctr_plan_create: host or ret_plan is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(const auto given, capi::read_options(request));
        GPUCTR_TRY(plan::Request chosen, capi::read_request(given));
        GPUCTR_TRY(auto planned, plan::make_plan(host->host, std::move(chosen), rootfs_fd));
        auto rules = capi::rules_of(planned.plan);
        *ret_plan = new gpuctr_plan{std::move(planned), std::move(rules)};
        return {};
    });
}

void gpuctr_plan_free(gpuctr_plan* plan) { delete plan; }

gpuctr_status gpuctr_plan_to_json(const gpuctr_plan* plan, char** ret_json,
                                  gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_plan_to_json: plan or ret_json is missing");
        *ret_json = capi::to_c_string(exports::plan_to_json(plan->planned.plan));
        return {};
    });
}

gpuctr_status gpuctr_plan_check_requirement(const gpuctr_plan* plan, const char* requirement,
                                            gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || requirement == nullptr)
            return Error(Errc::usage,
                         "gpuctr_plan_check_requirement: plan or requirement is missing");
        GPUCTR_TRY(const auto expression,
                   about("requirement", plan::parse_requirement(requirement)));
        const plan::Planned& planned = plan->planned;
        return about("requirement", plan::check_requirement(
                                        expression, {*planned.drivers, planned.plan.drivers,
                                                     planned.request.allowed_devices.empty()}));
    });
}

gpuctr_status gpuctr_plan_apply(const gpuctr_plan* plan, int rootfs_fd,
                                const gpuctr_apply_options* options, uint32_t* ret_outcome,
                                gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || rootfs_fd < 0)
            return Error(Errc::usage, "gpuctr_plan_apply: plan or rootfs_fd is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(auto target, read_apply_options(rootfs_fd, given));
        const bool journal = (given.flags & GPUCTR_APPLY_WITHOUT_JOURNAL) == 0;
        if (journal && target.over_copies)
            return Error(Errc::usage, "apply options: copies are for an apply without a journal");
        if (!journal && target.pidfd >= 0)
            return Error(Errc::usage, "apply options: without a journal not in another process");
        capi::Report report(given.report, given.report_data);
        target.findings = report.findings();
        GPUCTR_TRY(const auto outcome, journal
                                           ? apply::apply(plan->planned, target)
                                           : apply::apply_without_journal(plan->planned, target));
        if (ret_outcome != nullptr)
            *ret_outcome = static_cast<std::uint32_t>(outcome);
        return {};
    });
}

gpuctr_status gpuctr_plan_allow_devices(const gpuctr_plan* plan, int rootfs_fd, int pidfd,
                                        const char* bundle, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || rootfs_fd < 0 || pidfd < 0)
            return Error(Errc::usage,
                         "gpuctr_plan_allow_devices: plan, rootfs_fd or pidfd is missing");
        GPUCTR_CHECK(privilege::refuse_raised(false));
        std::optional<std::vector<cgroup::OrderedRule>> rules;
        if (bundle != nullptr) {
            if (*bundle != '/')
                return Error(Errc::usage, "the bundle is not an absolute path")
                    .with_argument("bundle");
            GPUCTR_TRY(rules, imports::device_rules_of_bundle(bundle, rootfs_fd));
        }
        return apply::allow_devices(plan->planned.plan, pidfd, rules);
    });
}

size_t gpuctr_plan_driver_count(const gpuctr_plan* plan)
{
    return plan->planned.plan.drivers.size();
}
const gpuctr_used_driver* gpuctr_plan_driver_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_used_driver>(plan->planned.plan.drivers, index);
}
uint32_t gpuctr_plan_layout(const gpuctr_plan* plan)
{
    return static_cast<std::uint32_t>(plan->planned.plan.layout);
}
const char* gpuctr_plan_tree_path(const gpuctr_plan* plan)
{
    return plan->planned.plan.tree_path.c_str();
}
int gpuctr_plan_writes_root(const gpuctr_plan* plan)
{
    return plan->planned.plan.writes_root ? 1 : 0;
}
int gpuctr_plan_is_locked(const gpuctr_plan* plan) { return plan->planned.plan.lock ? 1 : 0; }
const char* gpuctr_plan_mount_label(const gpuctr_plan* plan)
{
    return plan->planned.plan.mount_label.c_str();
}

size_t gpuctr_plan_item_count(const gpuctr_plan* plan) { return plan->planned.plan.items.size(); }
const gpuctr_item* gpuctr_plan_item_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_item>(plan->planned.plan.items, index);
}
const char* gpuctr_item_kind(const gpuctr_item* item) { return plan::name(item->kind()).data(); }
const char* gpuctr_item_source(const gpuctr_item* item) { return item->source().data(); }
const char* gpuctr_item_target(const gpuctr_item* item) { return item->target.c_str(); }
const char* gpuctr_item_options(const gpuctr_item* item) { return item->options().data(); }
const char* gpuctr_item_reason(const gpuctr_item* item) { return item->reason.c_str(); }
const char* gpuctr_item_vendor(const gpuctr_item* item) { return item->owner.vendor.c_str(); }
int32_t gpuctr_item_gpu(const gpuctr_item* item) { return item->owner.gpu; }
const char* gpuctr_item_place(const gpuctr_item* item) { return plan::name(item->place).data(); }
int gpuctr_item_is_directory(const gpuctr_item* item) { return item->is_directory() ? 1 : 0; }
uint32_t gpuctr_item_mode(const gpuctr_item* item) { return item->mode(); }
const void* gpuctr_item_content(const gpuctr_item* item)
{
    const std::string* const content = item->content();
    return content != nullptr ? content->data() : nullptr;
}
size_t gpuctr_item_content_size(const gpuctr_item* item)
{
    const std::string* const content = item->content();
    return content != nullptr ? content->size() : 0;
}
uint32_t gpuctr_item_major(const gpuctr_item* item)
{
    const auto* const device = item->as<plan::Device>();
    return device != nullptr ? device->major : 0;
}
uint32_t gpuctr_item_minor(const gpuctr_item* item)
{
    const auto* const device = item->as<plan::Device>();
    return device != nullptr ? device->minor : 0;
}
int gpuctr_item_required(const gpuctr_item* item)
{
    const auto* const device = item->as<plan::Device>();
    return device != nullptr && device->required ? 1 : 0;
}
gpuctr_file_id gpuctr_item_identity(const gpuctr_item* item)
{
    if (const auto* const bind = item->as<plan::Bind>())
        return capi::to_c(bind->id);
    if (const auto* const cover = item->as<plan::Cover>())
        return capi::to_c(cover->id);
    return {};
}

size_t gpuctr_plan_variable_count(const gpuctr_plan* plan)
{
    return plan->planned.plan.variables.size();
}
const gpuctr_variable* gpuctr_plan_variable_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_variable>(plan->planned.plan.variables, index);
}
const char* gpuctr_variable_action(const gpuctr_variable* variable)
{
    return variable->action.c_str();
}
const char* gpuctr_variable_name(const gpuctr_variable* variable) { return variable->name.c_str(); }
const char* gpuctr_variable_value(const gpuctr_variable* variable)
{
    return variable->value.c_str();
}
const char* gpuctr_variable_vendor(const gpuctr_variable* variable)
{
    return variable->vendor.c_str();
}

size_t gpuctr_plan_device_rule_count(const gpuctr_plan* plan) { return plan->device_rules.size(); }
const gpuctr_device_rule* gpuctr_plan_device_rule_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->device_rules.size() ? &plan->device_rules[index] : nullptr;
}

size_t gpuctr_plan_group_count(const gpuctr_plan* plan) { return plan->planned.plan.groups.size(); }
uint32_t gpuctr_plan_group_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->planned.plan.groups.size() ? plan->planned.plan.groups[index] : UINT32_MAX;
}

size_t gpuctr_plan_finding_count(const gpuctr_plan* plan)
{
    return plan->planned.plan.findings.size();
}
const gpuctr_finding* gpuctr_plan_finding_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_finding>(plan->planned.plan.findings, index);
}

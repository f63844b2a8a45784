// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "capi/warnings.hpp"
#include "export/json.hpp"
#include "privilege/process.hpp"
#include "rootfs/remembered_view.hpp"
#include "rootfs/root.hpp"

#include <optional>

using namespace gpucontainer;

namespace {

using Drivers = std::shared_ptr<const std::vector<vendor::DriverStack>>;

Result<mount::Backend> choose_backend(std::uint32_t backend)
{
    switch (backend) {
    case GPUCTR_BACKEND_DETACHED:
        return mount::require_backend(mount::Backend::detached);
    case GPUCTR_BACKEND_STAGED:
        return mount::require_backend(mount::Backend::staged);
    case GPUCTR_BACKEND_LEGACY:
        return mount::Backend::legacy;
    default:
        return mount::probe_backend();
    }
}

/// Only in the initial user namespace can anybody make a device node.
bool nodes_can_be_made()
{
    const auto map = base::read_file("/proc/self/uid_map");
    if (!map)
        return true;
    std::vector<std::string_view> words;
    for (std::string_view word : base::split(base::trim(*map), ' '))
        if (!word.empty())
            words.push_back(word);
    return words == std::vector<std::string_view>{"0", "0", "4294967295"};
}

Result<plan::Plan> make_plan(const Drivers& drivers, const plan::Request& request, int rootfs_fd,
                             mount::Backend backend,
                             const std::optional<privilege::Owner>& owner = {})
{
    if (rootfs_fd < 0)
        return plan::create_plan(*drivers, request, nullptr, backend);
    GPUCTR_TRY(const auto root, rootfs::Root::open(rootfs_fd, owner));
    const rootfs::RememberedView view(root);
    const plan::Target target = {view, root.facts(), nodes_can_be_made()};
    auto plan = plan::create_plan(*drivers, request, &target, backend);
    GPUCTR_CHECK(root.check());
    return plan;
}

Error no_driver(const gpuctr_host& host)
{
    if (host.skipped.empty())
        return {Errc::no_device, "no GPU on this host"};
    const vendor::Skipped& first = host.skipped.front();
    return {host.failure, base::format("{}: {}", first.name, first.reason)};
}

std::vector<gpuctr_device_rule> device_rules(const plan::Plan& plan)
{
    std::vector<gpuctr_device_rule> rules;
    for (const plan::DeviceRule& rule : plan.device_rules)
        rules.push_back({'c', "rw", rule.major, rule.minor});
    return rules;
}

constexpr std::uint32_t flags_of_apply =
    GPUCTR_APPLY_WITHOUT_JOURNAL | GPUCTR_APPLY_NO_REPLACE | GPUCTR_APPLY_OVER_COPIES;

Result<apply::Outcome> apply_to(const gpuctr_plan& plan, const apply::Target& target)
{
    const auto replan = [&](int seen_fd, bool shared, const auto& owner) {
        plan::Request request = plan.request;
        if (shared)
            request.write = plan::Write::never;
        return make_plan(plan.drivers, request, seen_fd, plan.plan.backend, owner);
    };
    return apply::apply(plan.plan, replan, target);
}

Result<apply::Outcome> apply_without_journal(const gpuctr_plan& plan, const apply::Target& target)
{
    if (target.pidfd >= 0)
        return Error(Errc::usage, "apply options: without a journal not in another process");
    GPUCTR_CHECK(apply::apply_without_journal(plan.plan, target));
    return apply::Outcome::applied;
}

} // namespace

gpuctr_status gpuctr_plan_create(const gpuctr_host* host, const gpuctr_request* request,
                                 int rootfs_fd, gpuctr_plan** ret_plan, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (host == nullptr || ret_plan == nullptr)
            return Error(Errc::usage, "gpuctr_plan_create: host or ret_plan is missing");
        GPUCTR_TRY(const auto given, capi::read_options(request));
        GPUCTR_TRY(plan::Request chosen, capi::read_request(given));
        GPUCTR_TRY(const mount::Backend backend, choose_backend(given.backend));
        if (host->drivers->empty())
            return no_driver(*host);
        for (const vendor::DriverStack& driver : *host->drivers)
            if ((capi::vendor_bit(driver.vendor) & host->vendors) != 0)
                chosen.required.insert(driver.vendor);
        GPUCTR_TRY(plan::Plan plan, make_plan(host->drivers, chosen, rootfs_fd, backend));
        auto rules = device_rules(plan);
        *ret_plan = new gpuctr_plan{std::move(plan), std::move(chosen), host->drivers,
                                    std::move(rules), host->unproven};
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
        *ret_json = capi::to_c_string(exports::plan_to_json(plan->plan));
        return {};
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
        GPUCTR_TRY(auto target, capi::read_target(rootfs_fd, options, flags_of_apply));
        const bool journal = (given.flags & GPUCTR_APPLY_WITHOUT_JOURNAL) == 0;
        if (journal && target.over_copies)
            return Error(Errc::usage, "apply options: copies are for an apply without a journal");
        GPUCTR_CHECK(privilege::refuse_raised(target.for_setuid));
        GPUCTR_CHECK(capi::prove(*plan->drivers, plan->unproven));
        capi::Warnings warnings(given);
        target.warnings = warnings.lines();
        GPUCTR_TRY(const auto outcome,
                   journal ? apply_to(*plan, target) : apply_without_journal(*plan, target));
        if (ret_outcome != nullptr)
            *ret_outcome = static_cast<std::uint32_t>(outcome);
        return {};
    });
}

size_t gpuctr_plan_item_count(const gpuctr_plan* plan) { return plan->plan.items.size(); }
const gpuctr_item* gpuctr_plan_item_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_item>(plan->plan.items, index);
}
const char* gpuctr_item_kind(const gpuctr_item* item) { return plan::name(item->kind).data(); }
const char* gpuctr_item_source(const gpuctr_item* item) { return item->source.c_str(); }
const char* gpuctr_item_target(const gpuctr_item* item) { return item->target.c_str(); }
const char* gpuctr_item_options(const gpuctr_item* item) { return item->options.c_str(); }
const char* gpuctr_item_reason(const gpuctr_item* item) { return item->reason.c_str(); }

size_t gpuctr_plan_variable_count(const gpuctr_plan* plan) { return plan->plan.variables.size(); }
const gpuctr_variable* gpuctr_plan_variable_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_variable>(plan->plan.variables, index);
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

size_t gpuctr_plan_device_rule_count(const gpuctr_plan* plan) { return plan->device_rules.size(); }
const gpuctr_device_rule* gpuctr_plan_device_rule_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->device_rules.size() ? &plan->device_rules[index] : nullptr;
}

size_t gpuctr_plan_group_count(const gpuctr_plan* plan) { return plan->plan.groups.size(); }
uint32_t gpuctr_plan_group_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->plan.groups.size() ? plan->plan.groups[index] : UINT32_MAX;
}

size_t gpuctr_plan_need_count(const gpuctr_plan* plan) { return plan->plan.needs.size(); }
const char* gpuctr_plan_need_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->plan.needs.size() ? plan->plan.needs[index].c_str() : nullptr;
}

size_t gpuctr_plan_warning_count(const gpuctr_plan* plan) { return plan->plan.warnings.size(); }
const char* gpuctr_plan_warning_at(const gpuctr_plan* plan, size_t index)
{
    return index < plan->plan.warnings.size() ? plan->plan.warnings[index].c_str() : nullptr;
}

size_t gpuctr_plan_skipped_count(const gpuctr_plan* plan) { return plan->plan.skipped.size(); }
const gpuctr_skipped* gpuctr_plan_skipped_at(const gpuctr_plan* plan, size_t index)
{
    return capi::element_at<gpuctr_skipped>(plan->plan.skipped, index);
}

// SPDX-License-Identifier: MIT
#include "apply/device_rules.hpp"

#include "base/format.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace gpucontainer::apply {

using journal::DeviceRule;
using journal::Journal;
using journal::RootJournals;
using program::Program;
namespace {

cgroup::Access access_in(const std::vector<DeviceRule>& rules, const cgroup::DeviceNumber& device)
{
    cgroup::Access access = 0;
    for (const DeviceRule& rule : rules)
        if (rule.device == device)
            access |= rule.access;
    return access;
}

void merge(const DeviceRule& rule, std::vector<DeviceRule>& rules)
{
    const auto found = std::ranges::find(rules, rule.device, &DeviceRule::device);
    if (found != rules.end())
        found->access |= rule.access;
    else if (rule.access != 0)
        rules.push_back(rule);
}

/// Rules of other set-ups for the same group.
Result<std::vector<DeviceRule>> rules_of_others(const journal::SetUpKey& key,
                                                const cgroup::GroupId& group,
                                                const RootJournals& journals)
{
    GPUCTR_TRY(const auto others, journals.others(key));
    std::vector<DeviceRule> rules;
    for (const Journal& other : others)
        if (other.key.from.boot_id == key.from.boot_id && other.grant.id == group)
            for (const DeviceRule& rule : other.grant.rules)
                merge(rule, rules);
    return rules;
}

/// Adds a rule, and checks that it has effect. If another rule in the list prevents that, the
/// container would have a GPU that it cannot use.
Result<void> add_rule(const cgroup::Group& group, const DeviceRule& rule)
{
    GPUCTR_CHECK(group.allow(rule.device, rule.access));
    GPUCTR_TRY(const auto list, group.device_list());
    if (!cgroup::is_allowed(list, rule.device))
        return Error(Errc::apply, "the rule has no effect");
    return {};
}

/// What a set-up needs from a list.
struct Rules {
    std::vector<DeviceRule> missing; ///< One for each node; has no access if that is allowed.
    std::vector<DeviceRule> shared;  ///< Added by other set-ups.
};

Rules rules_for(const DeviceAccess& access, const cgroup::DeviceList& list,
                const std::vector<DeviceRule>& others)
{
    Rules rules;
    for (const ListedNode& node : access.listed) {
        const cgroup::Access missing = cgroup::missing_access(list, node.device);
        rules.missing.push_back({node.device, is_allowed(list, node.device) ? 0 : missing});
        merge({node.device, access_in(others, node.device) & ~missing}, rules.shared);
    }
    return rules;
}

Result<void> add_missing(const DeviceAccess& access, std::span<const DeviceRule> missing,
                         model::Findings* findings)
{
    for (std::size_t i = 0; i < missing.size(); ++i) {
        if (missing[i].access == 0)
            continue;
        auto added = add_rule(*access.groups->listed(), missing[i]);
        if (added)
            continue;
        Error error = std::move(added).error();
        if (access.listed[i].required)
            return std::move(error)
                .context(base::format("allow {} in the container's device cgroup",
                                      access.listed[i].path))
                .with_hint(access.hint);
        if (findings != nullptr)
            findings->push_back({model::FindingCode::node_forbidden, access.listed[i].path,
                                 base::format("could not be allowed in the container's device "
                                              "cgroup: {}; what needs it will not work",
                                              error.message()),
                                 access.groups->listed()->path(), access.hint});
    }
    return {};
}

Result<void> deny(const cgroup::Group& group, std::span<const DeviceRule> rules,
                  const std::vector<DeviceRule>& kept)
{
    for (const DeviceRule& rule : rules)
        if (const auto access = rule.access & ~access_in(kept, rule.device); access != 0)
            GPUCTR_CHECK(group.deny(rule.device, access));
    return {};
}

/// None if all devices are allowed by default: to remove a rule would add an exception.
Result<std::optional<cgroup::DeviceList>> list_of(const cgroup::Group& group)
{
    GPUCTR_TRY(auto list, group.device_list());
    return list.all_by_default ? std::nullopt : std::optional(std::move(list));
}

bool is_listed(const DeviceAccess& access, const DeviceRule& rule)
{
    return std::ranges::find(access.listed, rule.device, &ListedNode::device)
           != access.listed.end();
}

/// A journal has rules of one group at most.
bool may_have_rules(const Journal& journal, const cgroup::GroupId& group)
{
    return journal.grant.rules.empty() || journal.grant.id == group;
}

} // namespace

bool has_other_rules(const Journal& journal, const DeviceAccess& access)
{
    return !access.listed.empty()
           && !std::ranges::all_of(journal.grant.rules,
                                   [&](const DeviceRule& rule) { return is_listed(access, rule); });
}

bool may_be_inherited(const Journal& older, const DeviceAccess& access)
{
    if (older.grant.rules.empty() || access.listed.empty())
        return false;
    const auto group = access.groups->listed()->id();
    return group && *group == older.grant.id;
}

Result<void> inherit_rules(const DeviceAccess& access, Journal& older, Journal& journal,
                           RootJournals& journals)
{
    if (!may_be_inherited(older, access))
        return take_back_rules(older, Program(older.program.get()), journals);
    journal.grant = older.grant;
    return {};
}

Result<void> write_with_own_rules(const DeviceAccess& access, Journal& journal,
                                  const Program& program, RootJournals& journals)
{
    if (!has_other_rules(journal, access))
        return journals.write(journal, program);
    // The lock keeps others from undoing before this journal is written.
    GPUCTR_TRY(const auto lock, journals.lock_store());
    GPUCTR_TRY(const auto list, list_of(*access.groups->listed()));
    GPUCTR_TRY(const auto others, rules_of_others(journal.key, journal.grant.id, journals));
    std::vector<DeviceRule> own = journal.grant.rules;
    const auto rest = std::stable_partition(
        own.begin(), own.end(), [&](const DeviceRule& rule) { return is_listed(access, rule); });
    if (list)
        GPUCTR_CHECK(deny(*access.groups->listed(), {rest, own.end()}, others));
    own.erase(rest, own.end());
    std::swap(journal.grant.rules, own);
    auto written = journals.write(journal, program);
    if (!written)
        std::swap(journal.grant.rules, own);
    return written;
}

Result<void> add_rules(const DeviceAccess& access, Journal& journal, const Program& program,
                       RootJournals& journals, model::Findings* findings)
{
    if (access.listed.empty())
        return {};
    const cgroup::Group& group = *access.groups->listed();
    // The lock keeps others from undoing until this journal has the rules.
    GPUCTR_TRY(const auto lock, journals.lock_store());
    GPUCTR_TRY(const auto list, list_of(group));
    if (!list)
        return {};
    GPUCTR_TRY(const auto id, group.id());
    GPUCTR_TRY(const auto others, rules_of_others(journal.key, id, journals));
    const Rules rules = rules_for(access, *list, others);
    const journal::Grant before = journal.grant;
    journal.grant.group = group.path();
    journal.grant.id = id;
    for (const auto* part : {&rules.missing, &rules.shared})
        for (const DeviceRule& rule : *part)
            merge(rule, journal.grant.rules);
    if (journal.grant.rules != before.rules)
        GPUCTR_CHECK(journals.write(journal, program));
    auto added = add_missing(access, rules.missing, findings);
    if (added || !deny(group, rules.missing, {}))
        return added;
    journal.grant = before;
    (void)journals.write(journal, program);
    return added;
}

Result<void> secure_rules(const DeviceAccess& access, std::span<Journal> older,
                          const journal::Viewpoint& here, RootJournals& journals)
{
    if (!access.lacks_rules)
        return {};
    GPUCTR_TRY(const auto group, access.groups->listed()->id());
    const Journal* other = nullptr;
    for (Journal& journal : older) {
        if (journal.key.from.boot_id != here.boot_id)
            continue;
        if (may_have_rules(journal, group))
            return add_rules(access, journal, Program(journal.program.get()), journals, nullptr);
        other = &journal;
    }
    if (other == nullptr)
        return {};
    return Error(Errc::apply,
                 base::format("the older set-up has rules in another device cgroup, {}",
                              other->grant.group))
        .with_hint("`gpuctr-setup undo` first: before that is done it cannot be told whether this "
                   "device cgroup may allow the GPUs");
}

Result<void> take_back_rules(Journal& journal, const Program& program, RootJournals& journals)
{
    if (journal.grant.rules.empty())
        return {};
    GPUCTR_TRY(const auto lock, journals.lock_store());
    GPUCTR_TRY(const auto group, cgroup::Group::find(cgroup::Version::devices, journal.grant.group,
                                                     journal.grant.id));
    if (group) {
        GPUCTR_TRY(const auto others, rules_of_others(journal.key, journal.grant.id, journals));
        GPUCTR_TRY(const auto list, list_of(*group));
        if (list)
            GPUCTR_CHECK(deny(*group, journal.grant.rules, others));
    }
    // While this journal has the rules, other set-ups leave them to it. If it cannot be written,
    // as on a full disk, undo must still work.
    journal.grant = {};
    (void)journals.write(journal, program);
    return {};
}

} // namespace gpucontainer::apply

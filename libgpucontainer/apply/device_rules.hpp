// SPDX-License-Identifier: MIT
#pragma once

#include "apply/device_access.hpp"
#include "base/result.hpp"
#include "journal/store.hpp"

#include <span>
#include <string>
#include <vector>

/// Rules in the lists of device cgroups of version 1.
namespace gpucontainer::apply {

/// Adds the rules that the list lacks, after writing them into the journal. The journal also gets
/// the rules that other set-ups of the same state directory added: the last set-up to be undone
/// removes them. `program` is the journal's. After an error, list and journal are as before,
/// unless removing a rule fails too: then the journal keeps it.
Result<void> add_rules(const DeviceAccess& access, journal::Journal& journal,
                       const program::Program& program, journal::RootJournals& journals,
                       model::Findings* findings);

/// Removes the journal's rules from their group, if that still exists and has a list of its own.
/// Rules that another set-up's journal has too stay. The journal has no rules afterwards. Errors:
/// permission, apply, requirement.
Result<void> take_back_rules(journal::Journal& journal, const program::Program& program,
                             journal::RootJournals& journals);

/// Whether a journal has rules for other devices than its own, which an interrupted replacement
/// leaves.
bool has_other_rules(const journal::Journal& journal, const DeviceAccess& access);

/// Whether rules of an older set-up are in the group that its replacement needs. They stay
/// meanwhile: the kernel also removes a rule from the groups below, and nobody would add it there
/// again.
bool may_be_inherited(const journal::Journal& older, const DeviceAccess& access);

/// Before a journal replaces an older one: takes over the rules that the older one added, or
/// removes those that it does not need.
Result<void> inherit_rules(const DeviceAccess& access, journal::Journal& older,
                           journal::Journal& journal, journal::RootJournals& journals);

/// Writes a journal, after removing inherited rules for which its plan has no node. Rules that
/// another set-up's journal has too stay.
Result<void> write_with_own_rules(const DeviceAccess& access, journal::Journal& journal,
                                  const program::Program& program, journal::RootJournals& journals);

/// Before older set-ups of the same root are undone: adds the rules that the list lacks, and
/// writes them into the journal of one of these. This shows beforehand whether it is possible.
/// Errors: those of add_rules(); apply, if the older set-ups have rules in another group.
Result<void> secure_rules(const DeviceAccess& access, std::span<journal::Journal> older,
                          const journal::Viewpoint& here, journal::RootJournals& journals);

} // namespace gpucontainer::apply

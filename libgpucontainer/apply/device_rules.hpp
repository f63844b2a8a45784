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

/// Adds the rules that the list lacks, and has the journal say so first. It says so too of those
/// that are there by another set-up of the same state directory: the last one to be undone takes
/// them. `program` is the journal's. An error leaves the list, and the journal, as they were,
/// unless taking a rule back fails as well: then the journal has it.
Result<void> add_rules(const DeviceAccess& access, journal::Journal& journal,
                       const program::Program& program, journal::RootJournals& journals,
                       model::Findings* findings);

/// Takes the journal's rules back from the group that they were added to, if that still is there
/// and has a list of its own, but for those that another set-up's journal has too; it has none
/// then. Errors: permission, apply, requirement.
Result<void> take_back_rules(journal::Journal& journal, const program::Program& program,
                             journal::RootJournals& journals);

/// Whether a journal has rules for other devices, as a replacement leaves them that was cut off.
bool has_other_rules(const journal::Journal& journal, const DeviceAccess& access);

/// Whether rules of an older set-up are in the group that one which takes its place needs. They
/// stay meanwhile: the kernel takes a rule from the groups below too, where nobody adds it again.
bool may_be_inherited(const journal::Journal& older, const DeviceAccess& access);

/// Before a journal takes the place of an older one: has it say what that one has added, or takes
/// that back where it is of no use to it.
Result<void> inherit_rules(const DeviceAccess& access, journal::Journal& older,
                           journal::Journal& journal, journal::RootJournals& journals);

/// Writes a journal, after taking back what it has inherited and its plan has no node for, but
/// for what another set-up's has too.
Result<void> write_with_own_rules(const DeviceAccess& access, journal::Journal& journal,
                                  const program::Program& program, journal::RootJournals& journals);

/// Before older set-ups of the same root go: adds what the list lacks, and has the journal of one
/// of them say so. So it is known beforehand whether that can be had. Errors: those of
/// add_rules(); apply, where they have rules in another group.
Result<void> secure_rules(const DeviceAccess& access, std::span<journal::Journal> older,
                          const journal::Viewpoint& here, journal::RootJournals& journals);

} // namespace gpucontainer::apply

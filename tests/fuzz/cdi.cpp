// SPDX-License-Identifier: MIT
#include "cdi/as_mounts.hpp"
#include "cdi/merged.hpp"
#include "cdi/names.hpp"
#include "cdi/read.hpp"
#include "cdi/record.hpp"
#include "cdi/text.hpp"
#include "cdi/version.hpp"

#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

namespace gpucontainer::fuzz {
namespace {

/// What is written of a specification is one, and says the same.
void check_round_trip(const cdi::Specification& specification)
{
    for (const cdi::Form form : {cdi::Form::json, cdi::Form::yaml}) {
        const std::string text =
            form == cdi::Form::json ? cdi::to_json(specification) : cdi::to_yaml(specification);
        demand(base::is_utf8(text), "a document is UTF-8");
        const cdi::Document again = cdi::read_document(text, form);
        demand(again.faults.empty(), "what was read can be written");
        demand(again.specification == specification, "and is the same then");
    }
}

void check_valid(const cdi::Specification& specification)
{
    demand(cdi::fault_in_kind(specification.kind).empty(), "the kind is right");
    demand(!specification.devices.empty(), "there is a device");
    std::set<std::string> names;
    for (const cdi::Device& device : specification.devices) {
        demand(cdi::fault_in_device_name(device.name).empty(), "names are right");
        demand(names.insert(device.name).second, "each device is there once");
        demand(!device.edits.is_empty(), "each device has edits");
    }
    const std::string_view version = cdi::known_version(specification.version);
    demand(!version.empty(), "the version is known");
    demand(!cdi::is_older(version, cdi::lowest_version(specification).version),
           "the version has all fields");
}

/// Hooks are known, or not; what they are for has plain paths alone. Nothing of the host is looked
/// at.
void check_tasks(const cdi::Specification& specification)
{
    cdi::Chosen chosen = {{}, {specification.edits}};
    for (const cdi::Device& device : specification.devices)
        chosen.edits.push_back(device.edits);
    for (cdi::Edits& edits : chosen.edits) {
        edits.nodes.clear();
        for (const cdi::Hook& hook : edits.hooks)
            if (const auto task = drivers::task_of(hook); task && *task)
                if (const auto* const links = std::get_if<cdi::LinkTask>(&**task))
                    for (const auto& link : links->links)
                        demand(cdi::plain_path(link.path) == link.path, "a link has a plain path");
    }
    const auto merged = cdi::merge(chosen, cdi::KeptHooks::unknown, drivers::task_of);
    if (!merged)
        return;
    for (const cdi::Mount& mount : merged->edits.mounts)
        demand(cdi::plain_path(mount.container_path) == mount.container_path,
               "a mount has a plain path");
    const cdi::Links links(*merged);
    for (const cdi::Links::Link& link : links.all())
        (void)links.end_of(link.path);
}

void check(std::string_view text, cdi::Form form)
{
    const cdi::Document document = cdi::read_document(text, form);
    for (const cdi::Fault& fault : document.faults) {
        demand(!fault.text.empty(), "a fault is explained");
        demand(std::ranges::none_of(fault.message(), base::is_control),
               "a fault has no control characters");
        demand(fault.line <= static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1,
               "the line is one of the text");
    }
    if (!document.faults.empty())
        return;
    check_valid(document.specification);
    check_tasks(document.specification);
    // Some texts of YAML have bytes that are no UTF-8, which JSON has no way to write.
    if (base::is_utf8(text))
        check_round_trip(document.specification);
}

} // namespace

void run(std::string_view input)
{
    check(input, cdi::Form::json);
    check(input, cdi::Form::yaml);
    if (const auto record = cdi::parse_record(input)) {
        const auto again = cdi::parse_record(cdi::to_text(*record));
        demand(again && again->marks.size() == record->marks.size(), "a record can be written");
    }
}

} // namespace gpucontainer::fuzz

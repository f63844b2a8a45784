// SPDX-License-Identifier: MIT
#include "plan/cdi_compat.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "elf/facts.hpp"
#include "elf/notes.hpp"
#include "requirement/expression.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::plan {
namespace {

using model::FindingCode;

/// What the image has in the directory. Fills in `problem` if nothing could load it.
drivers::CompatLibrary look_at_image_driver(const Draft& draft, const drivers::Compat& rules,
                                            const cdi::CompatTask& task, std::string& problem)
{
    const std::string path = base::format("{}/{}", task.directory, rules.library);
    drivers::CompatLibrary library = {task.directory, "", {}};
    const std::string stem(rules.library.substr(0, rules.library.find(".so") + 4));
    const std::string to = draft.view.link_target(path);
    const std::string_view name = base::name_of(to);
    if (name.starts_with(stem) && requirement::is_version(name.substr(stem.size())))
        library.version = name.substr(stem.size());
    const auto file = draft.view.open(path);
    const auto facts = file ? std::optional(elf::read_facts(file->get())) : std::nullopt;
    if (!facts || !*facts || !elf::is_for(**facts, *draft.machine)
        || (*facts)->soname != rules.library) {
        problem = base::format("its {} is no such library for this machine", rules.library);
        return library;
    }
    auto notes = elf::read_notes(file->get(), rules.note_owner);
    if (notes)
        library.notes = *std::move(notes);
    else
        problem = base::format("its {}: {}", rules.library, notes.error().message());
    return library;
}

std::vector<std::string> libraries_in(const Draft& draft, const drivers::Compat& rules,
                                      const drivers::CompatLibrary& library)
{
    std::vector<std::string> names = {std::string(rules.library)};
    for (const std::string_view name : rules.libraries)
        names.push_back(model::with_version(std::string(name), library.version));
    return draft.view.present(library.directory, names);
}

} // namespace

void choose_image_driver(Draft& draft, const cdi::CompatTask& task)
{
    const drivers::Vendor* const vendor = drivers::find_vendor(task.vendor);
    if (vendor == nullptr || vendor->compat == nullptr)
        return;
    const drivers::Compat& rules = *vendor->compat;
    const std::string path = base::format("{}/{}", task.directory, rules.library);
    if (!draft.view.look(path))
        return;
    draft.identify(base::format("compat {}", static_cast<int>(draft.request.compat)));
    std::string problem;
    const drivers::CompatLibrary library = look_at_image_driver(draft, rules, task, problem);
    std::string objection =
        problem.empty() ? rules.judge_for_hook(task, library).objection : problem;
    if (draft.request.compat == Compat::never)
        objection = "as asked for";
    const bool forced = draft.request.compat == Compat::always && problem.empty();
    if (!objection.empty() && !forced) {
        draft.plan.findings.push_back({FindingCode::compat_decided, task.directory,
                                       base::format("not used: {}", objection), path});
        return;
    }
    draft.plan.findings.push_back(
        {objection.empty() ? FindingCode::compat_decided : FindingCode::compat_forced,
         task.directory,
         objection.empty()
             ? base::format("programs find the image's {}, which is newer than the host's",
                            rules.library)
             : base::format("programs find the image's {}, as asked for, and it may fail: {}",
                            rules.library, objection),
         path});
    draft.compat.directory = task.directory;
    draft.compat.libraries = libraries_in(draft, rules, library);
    draft.identify(task.directory);
}

} // namespace gpucontainer::plan

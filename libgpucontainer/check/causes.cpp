// SPDX-License-Identifier: MIT
#include "check/causes.hpp"

#include "elf/machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::check {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Severity;
using model::Stage;

namespace {

struct Place {
    FindingCode code;
    Stage stage;
    Blocks blocks = Blocks::some;
    bool certain = true;
};

/// Of warnings that drivers and plans have.
constexpr std::array places = {
    Place{FindingCode::driver_unusable, Stage::host},
    Place{FindingCode::vendor_left_out, Stage::choice},
    Place{FindingCode::no_gpu, Stage::module, Blocks::all},
    Place{FindingCode::map_unfit, Stage::choice},
    Place{FindingCode::compat_forced, Stage::init, Blocks::all, false},
    Place{FindingCode::c_library_unfit, Stage::load, Blocks::all, false},
    Place{FindingCode::toolkit_unfit, Stage::feature},
    Place{FindingCode::files_left_out, Stage::load, Blocks::all},
    Place{FindingCode::library_unloadable, Stage::load},
    Place{FindingCode::library_missing, Stage::load},
    Place{FindingCode::releases_differ, Stage::init},
    Place{FindingCode::compute_node_unusable, Stage::init, Blocks::all},
    Place{FindingCode::node_forbidden, Stage::host},
    Place{FindingCode::variable_contradicted, Stage::choice},
    Place{FindingCode::device_unknown, Stage::host, Blocks::some, false},
};

/// An image that runs no 32-bit programs, for which libraries were asked for beside others.
bool is_about_32_bit(const model::Finding& finding)
{
    return finding.code == FindingCode::files_left_out
           && (finding.evidence == elf::i386.loader || finding.evidence == elf::armhf.loader);
}

} // namespace

Cause cause_of(const Error& error, FindingCode code, Stage stage)
{
    const std::string_view argument = error.argument();
    return {{code, "", error.message(), argument.empty() ? error.object() : std::string(argument),
             error.hint()},
            stage};
}

void add_warnings(const model::Findings& findings, model::Causes& causes)
{
    for (model::Finding finding : findings) {
        // What programs find is looked at when one is started.
        if (finding.code == FindingCode::search_differs)
            continue;
        if (is_about_32_bit(finding)) {
            causes.push_back({std::move(finding), Stage::start, Blocks::some});
            continue;
        }
        if (finding.evidence.empty() && finding.object.starts_with('/'))
            finding.evidence = finding.object;
        const bool is_told = std::ranges::any_of(causes, [&](const Cause& cause) {
            return cause.finding.evidence == finding.evidence && !finding.evidence.empty();
        });
        if (finding.severity() < Severity::warning || is_told)
            continue;
        const auto* const place = std::ranges::find(places, finding.code, &Place::code);
        causes.push_back(
            place != places.end()
                ? Cause{std::move(finding), place->stage, place->blocks, place->certain}
                : Cause{std::move(finding), Stage::feature, Blocks::some});
    }
}

} // namespace gpucontainer::check

// SPDX-License-Identifier: MIT
#include "commands/dry_run.hpp"

#include "options/groups.hpp"
#include "output/findings.hpp"
#include "output/items.hpp"
#include "output/json.hpp"
#include "output/output.hpp"

namespace gpuctr_cli {
namespace {

using gpucontainer::Outcome;
using gpucontainer::Undone;

const char* name_of(Outcome outcome)
{
    return outcome == Outcome::applied     ? "applied"
           : outcome == Outcome::unchanged ? "unchanged"
                                           : "replaced";
}

const char* name_of(Undone undone)
{
    return undone == Undone::undone ? "undone" : undone == Undone::forgotten ? "forgotten" : "left";
}

Json to_json(const FoundSetUp& found)
{
    std::vector<Json> items;
    if (found.undone == Undone::undone)
        for (const auto item : found.setup.items())
            items.push_back(item_to_json(item));
    return json_object({{"root", json_string_or_null(found.setup.root())},
                        {"outcome", json_string(name_of(found.undone))},
                        {"origin", json_string(found.setup.origin())},
                        {"mount_namespace", std::to_string(found.setup.mount_namespace())},
                        {"items", json_array(items)}});
}

void print_document(const char* command, const char* outcome, const Json& plan,
                    const std::vector<FoundSetUp>& found, std::FILE* out)
{
    std::vector<Json> setups;
    setups.reserve(found.size());
    for (const FoundSetUp& one : found)
        setups.push_back(to_json(one));
    print(out, "{}\n",
          json_object({{"schema", json_string("gpucontainer/dry_run/1")},
                       {"command", json_string(command)},
                       {"outcome", json_string(outcome)},
                       {"plan", plan},
                       {"setups", json_array(setups)}}));
}

/// The plan's document without its last line break.
Json plan_to_json(const gpucontainer::Plan& plan)
{
    Json document = plan.to_json();
    document.erase(document.find_last_not_of('\n') + 1);
    return document;
}

void print_set_up(const FoundSetUp& found, const char* what, const Streams& streams)
{
    print(streams.out, "{}{}\n", streams.of_out.heading(printable(found.name) + ":"), what);
    if (found.undone == Undone::undone)
        print_items(found.setup.items(), false, streams.out, streams.of_out);
}

} // namespace

void add_dry_run_option(CLI::App& command, bool& dry_run)
{
    command.option_defaults()->group(what_is_printed);
    command.add_flag("--dry-run", dry_run, "print what would be done, and change nothing");
}

void print_plan(const gpucontainer::Plan& plan, Verbosity verbosity, const Streams& streams)
{
    const bool is_verbose = verbosity == Verbosity::verbose;
    print_items(plan.items(), is_verbose, streams.out, streams.of_out);
    print_needs(plan.findings(), streams.out, streams.of_out);
    if (is_verbose)
        print_notes(plan.findings(), streams.out, streams.of_out);
}

void print_mount_point_note(const std::string& root, const Streams& streams)
{
    print(streams.out,
          "\n{} {} is a mount point until it is undone: `systemd-nspawn --ephemeral` copies such a "
          "directory into itself, until the disk is full\n",
          streams.of_out.heading("note:"), printable(root));
}

bool is_ours(const gpucontainer::Setup& setup)
{
    const std::string_view origin = setup.origin();
    return origin == "here" || origin == "namespace_gone" || origin == "earlier_boot";
}

std::vector<FoundSetUp> older_set_ups(const gpucontainer::SetupList& list, const std::string& root)
{
    std::vector<FoundSetUp> found;
    for (const auto setup : list)
        if (is_ours(setup))
            found.push_back({setup, root, Undone::undone});
    return found;
}

void print_apply(const Forecast& forecast, const std::string& root, const Call& call, Format format)
{
    const auto& [plan, outcome, replaced] = forecast;
    if (format == Format::json) {
        print_document("apply", name_of(outcome), plan_to_json(plan), replaced, call.streams.out);
        return;
    }
    if (outcome == Outcome::unchanged) {
        print(call.streams.out, "{}: set up already\n", printable(root));
        return;
    }
    for (const FoundSetUp& older : replaced) {
        print_set_up(older, " an older set-up goes first", call.streams);
        print(call.streams.out, "\n");
    }
    print_plan(plan, call.verbosity, call.streams);
}

void print_undo(const std::vector<FoundSetUp>& found, const Call& call, Format format)
{
    if (format == Format::json) {
        print_document("undo", found.empty() ? "unchanged" : "undone", "null", found,
                       call.streams.out);
        return;
    }
    bool first = true;
    for (const FoundSetUp& one : found) {
        print(call.streams.out, "{}", first ? "" : "\n");
        first = false;
        print_set_up(one,
                     one.undone == Undone::undone      ? ""
                     : one.undone == Undone::forgotten ? " is gone, and would be forgotten"
                                                       : " would be left",
                     call.streams);
    }
}

} // namespace gpuctr_cli

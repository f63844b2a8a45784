// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "privileges.hpp"
#include "restricted.hpp"
#include "standard_descriptors.hpp"
#include "table.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace gpuctr_setup {
namespace {

/// The words before "--" and those behind it.
struct Words {
    std::vector<std::string> own;
    std::vector<std::string> command;
    bool has_command = false;
    bool restricted = false;
};

/// By the word alone: for the parser it may be the value of an option before it.
bool restricts(const std::string& word)
{
    return word == "--restricted" || word.starts_with("--restricted=");
}

Words split(int argc, char** argv)
{
    Words words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (words.has_command)
            words.command.push_back(word);
        else if (word == "--")
            words.has_command = true;
        else
            words.own.push_back(word);
    }
    words.restricted = std::any_of(words.own.begin(), words.own.end(), restricts);
    return words;
}

/// "apply" may be left out: it is put in front of the options that belong to it.
void add_default_command(std::vector<std::string>& words)
{
    constexpr std::array global = {"-v", "--verbose", "-q", "--quiet", "--restricted"};
    constexpr std::array own = {"apply",  "plan", "list",   "prepare",   "undo",
                                "status", "-h",   "--help", "--version", "version"};
    const auto is_any = [](const auto& list, const std::string& word) {
        return std::find(list.begin(), list.end(), word) != list.end();
    };
    const auto first = std::find_if(words.begin(), words.end(),
                                    [&](const std::string& w) { return !is_any(global, w); });
    if (first != words.end() && !is_any(own, *first))
        words.insert(first, "apply");
}

/// With a command to run, all but a usage error is "setting up failed".
int report_failure(const gpucontainer::Error& error, bool with_command, const Streams& streams)
{
    if (!with_command || error.status() == GPUCTR_E_USAGE)
        return report(error, streams.err);
    report(error, streams.err, fmt::format(" (error {})", -error.status()));
    return ExitCode::set_up_failed;
}

int report_usage(const std::string& problem, const Streams& streams)
{
    say(streams.err, "gpuctr-setup: {}\nhint: gpuctr-setup --help\n", printable(problem));
    return ExitCode::usage_error;
}

/// What was asked for in place of any work, as for --help.
int answer(const CLI::App& app, const CLI::Success& call, const Streams& streams)
{
    std::ostringstream text;
    const int code = app.exit(call, text, text);
    print(streams.out, "{}", text.str());
    return code;
}

int run(Words& words, const Streams& streams)
{
    Command chosen;
    Verbosity verbosity = Verbosity::normal;
    CLI::App app("Set the GPUs of this host up in a container's root file system.", "gpuctr-setup");
    app.set_version_flag("--version", "gpuctr-setup " + std::string(gpucontainer::version()));
    app.fallthrough();
    app.require_subcommand(1);
    app.add_flag_callback(
        "-v,--verbose", [&] { verbosity = Verbosity::verbose; }, "also say why");
    app.add_flag_callback(
        "-q,--quiet", [&] { verbosity = Verbosity::quiet; }, "only say errors");
    add_restricted_option(app);
    add_apply_command(app, chosen, verbosity, words.command);
    add_plan_command(app, chosen, verbosity);
    add_list_command(app, chosen, verbosity);
    add_prepare_command(app, chosen, verbosity);
    add_undo_command(app, chosen, verbosity);
    add_status_command(app, chosen, verbosity);
    app.add_subcommand("version", "the version of the library")->callback([&] {
        chosen = [](const Streams& out) -> int {
            print(out.out, "gpuctr-setup {}\n", gpucontainer::version());
            return ExitCode::done;
        };
    });

    add_default_command(words.own);
    std::reverse(words.own.begin(), words.own.end()); // the order that CLI11 takes
    try {
        app.parse(words.own);
    } catch (const CLI::Success& call) {
        return answer(app, call, streams);
    } catch (const CLI::ParseError& error) {
        return report_usage(error.what(), streams);
    }
    if (words.has_command && !app.got_subcommand("apply"))
        return report_usage("-- CMD goes with apply only", streams);
    if (words.has_command && words.command.empty())
        return report_usage("no command behind --", streams);
    settle_options(app, words.restricted, words.has_command);
    return chosen(streams);
}

} // namespace
} // namespace gpuctr_setup

int main(int argc, char** argv)
{
    using namespace gpuctr_setup;
    const Streams streams = {stdout, stderr};
    bool with_command = false;
    try {
        auto words = split(argc, argv);
        with_command = words.has_command;
        fill_standard_descriptors();
        ignore_output_signals();
        give_up_raised_privileges();
        const int code = run(words, streams);
        finish_results(streams.out);
        return code;
    } catch (const gpucontainer::Error& error) {
        return report_failure(error, with_command, streams);
    } catch (const std::exception& exception) {
        (void)std::fprintf(stderr, "gpuctr-setup: internal error: %s%s\n", exception.what(),
                           with_command ? " (error 1)" : "");
        return with_command ? set_up_failed : internal_error;
    }
}

// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/mistakes.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "process/standard_descriptors.hpp"
#include "restricted/policy.hpp"
#include "settings/origins.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <gpucontainer/gpucontainer.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace gpuctr_setup {
namespace {

/// What most calls look like; all options stand in the help of a command.
constexpr const char* usual_calls =
    R"(Usual calls, of which `apply` may be left out:
  gpuctr-setup apply --nv --rootfs DIR            set the NVIDIA GPUs up in the directory DIR
  gpuctr-setup apply --nv --rootfs DIR -- CMD...  run CMD in DIR with them, and change nothing there
  gpuctr-setup undo --rootfs DIR                  take away what apply did
Other vendors are --rocm (AMD), --intel, --hpu (Intel Gaudi); --gpu is all that are here.
`gpuctr-setup apply --help` has all options of apply, such as --device to choose GPUs.)";

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
    constexpr std::array own = {"apply",  "plan", "list",   "prepare",   "undo",
                                "status", "-h",   "--help", "--version", "version"};
    const std::size_t first = first_own_word(words);
    if (first != words.size() && std::find(own.begin(), own.end(), words[first]) == own.end())
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), "apply");
}

/// With a command to run, all but a usage error is "setting up failed".
int report_failure(const gpucontainer::Error& failure, const Origins& origins, bool with_command,
                   const Streams& streams)
{
    const gpucontainer::Error error(failure.status(), origins.explain(failure.what()),
                                    failure.hint(), failure.os_error());
    if (!with_command || error.status() == GPUCTR_E_USAGE)
        return report(error, streams.err);
    report(error, streams.err, formatted(" (error {})", -error.status()));
    return ExitCode::set_up_failed;
}

/// What was asked for in place of any work, as for --help.
int answer(const CLI::App& app, const CLI::Success& call, const Streams& streams)
{
    std::ostringstream text;
    const int code = app.exit(call, text, text);
    print(streams.out, "{}", text.str());
    return code;
}

int run(const Words& words, const Streams& streams, Origins& origins)
{
    Command chosen;
    Verbosity verbosity = Verbosity::normal;
    CLI::App app("Set the GPUs of this host up in a container's root file system.", "gpuctr-setup");
    app.set_version_flag("--version", "gpuctr-setup " + std::string(gpucontainer::version()));
    app.fallthrough();
    app.require_subcommand(1);
    app.footer(usual_calls);
    app.add_flag_callback(
        "-v,--verbose", [&] { verbosity = Verbosity::verbose; }, "also say why");
    app.add_flag_callback(
        "-q,--quiet", [&] { verbosity = Verbosity::quiet; }, "only say errors");
    add_restricted_option(app);
    add_apply_command(app, chosen, verbosity, words.command, origins);
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

    check_values(app);
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        check_values(*command);

    std::vector<std::string> parsed = words.own;
    add_default_command(parsed);
    check_words(app, parsed);
    std::reverse(parsed.begin(), parsed.end()); // the order that CLI11 takes
    try {
        app.parse(parsed);
    } catch (const CLI::Success& call) {
        return answer(app, call, streams);
    } catch (const CLI::ParseError& error) {
        throw explain(app, error, words.own);
    }
    if (words.has_command && !app.got_subcommand("apply"))
        throw usage_error_of("", "-- CMD goes with apply only");
    if (words.has_command && words.command.empty())
        throw usage_error_of("", "no command behind --");
    settle_options(app, words.restricted, words.has_command, {streams.err, verbosity}, origins);
    return chosen(streams);
}

} // namespace
} // namespace gpuctr_setup

int main(int argc, char** argv)
{
    using namespace gpuctr_setup;
    const Streams streams = {stdout, stderr};
    bool with_command = false;
    Origins origins;
    try {
        const auto words = split(argc, argv);
        with_command = words.has_command;
        fill_standard_descriptors();
        ignore_output_signals();
        give_up_raised_privileges();
        const int code = run(words, streams, origins);
        finish_results(streams.out);
        return code;
    } catch (const gpucontainer::Error& error) {
        return report_failure(error, origins, with_command, streams);
    } catch (const std::exception& exception) {
        (void)std::fprintf(stderr, "gpuctr-setup: internal error: %s%s\n", exception.what(),
                           with_command ? " (error 1)" : "");
        return with_command ? set_up_failed : internal_error;
    }
}

// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/mistakes.hpp"
#include "commands/parser.hpp"
#include "commands/words.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "process/standard_descriptors.hpp"
#include "restricted/policy.hpp"

#include <exception>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

/// With -- CMD, every error but a usage error ends with the exit code set_up_failed.
int report_failure(const gpucontainer::Error& failure, const Origins& origins, bool with_command,
                   const Streams& streams)
{
    const gpucontainer::Error error(failure.status(), origins.explain(failure), failure.hint(),
                                    failure.os_error());
    if (!with_command || error.status() == GPUCTR_E_USAGE)
        return report(error, streams.err);
    report(error, streams.err, formatted(" (error {})", -error.status()));
    return ExitCode::set_up_failed;
}

int run(const Words& words, Call& call)
{
    std::vector<std::string> typed = words.own;
    add_default_command(typed);
    const CommandEntry* const entry = called_command(typed);
    Parser parser(entry, call);
    try {
        parser.parse(typed);
    } catch (const CLI::CallForHelp&) {
        print(call.streams.out, "{}", help_page(entry, parser.app()));
        return ExitCode::done;
    } catch (const CLI::CallForVersion& version) {
        print(call.streams.out, "{}\n", version.what());
        return ExitCode::done;
    } catch (const CLI::ParseError& error) {
        throw explain(parser.app(), error, words);
    }
    parser.command().check_typed(call);
    if (words.has_command && !entry->runs_command_line)
        throw usage_error_of("", "-- CMD goes with apply only");
    if (words.has_command && words.command.empty())
        throw usage_error_of("", "no command after --");
    settle_options({parser.options(), words.restricted, words.has_command}, keys_of_command,
                   call.messages(), call.origins);
    parser.command().check_complete();
    return parser.command().run(call);
}

} // namespace
} // namespace gpuctr_cli

int main(int argc, char** argv)
{
    using namespace gpuctr_cli;
    Call call = {{stdout, stderr}};
    bool with_command = false;
    try {
        const Words words = split(argc, argv);
        with_command = words.has_command;
        call.command_line = words.command;
        fill_standard_descriptors();
        ignore_output_signals();
        give_up_raised_privileges();
        const int code = run(words, call);
        finish_results(call.streams.out);
        return code;
    } catch (const gpucontainer::Error& error) {
        return report_failure(error, call.origins, with_command, call.streams);
    } catch (const std::exception& exception) {
        (void)std::fprintf(stderr, "gpuctr-setup: internal error: %s%s\n", exception.what(),
                           with_command ? " (error 1)" : "");
        return with_command ? set_up_failed : internal_error;
    }
}

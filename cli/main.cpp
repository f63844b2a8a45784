// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/mistakes.hpp"
#include "commands/parser.hpp"
#include "commands/words.hpp"
#include "front/front.hpp"
#include "output/error_document.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "process/standard_descriptors.hpp"
#include "restricted/policy.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {
namespace {

/// With -- CMD, every error but a usage error ends with the exit code set_up_failed.
int exit_code_of(const gpucontainer::Error& failure, bool with_command)
{
    return with_command && failure.status() != GPUCTR_E_USAGE ? int{ExitCode::set_up_failed}
                                                              : -failure.status();
}

/// Prints the error that ends the call, with what was held for it.
void print_failure(const gpucontainer::Error& failure, int code, const Call& call)
{
    const std::string text = call.origins.explain(failure);
    if (call.json) {
        write_message(call.streams.err, error_document(failure, text, Origins::option_of(failure),
                                                       code, std::exchange(call.held, {})));
        return;
    }
    Message message = message_of(failure);
    message.text = text;
    print_message(message, call.streams,
                  code == ExitCode::set_up_failed ? formatted(" (error {})", -failure.status())
                                                  : "");
}

/// What a call said that ended with this code. In JSON, the first error is the one that is told of,
/// and the others are among its findings.
void print_held(int code, const Call& call)
{
    const auto is_error = [](const Message& message) { return message.error.has_value(); };
    const auto first = std::find_if(call.held.begin(), call.held.end(), is_error);
    if (first == call.held.end()) {
        call.messages().print_held();
        return;
    }
    const gpucontainer::Error error = *first->error;
    call.held.erase(first);
    print_failure(error, code, call);
}

int end_with(const gpucontainer::Error& failure, bool with_command, const Call& call)
{
    const int code = exit_code_of(failure, with_command);
    print_failure(failure, code, call);
    return code;
}

/// Needs no memory if there is none.
int fail_internally(const std::exception& exception, bool with_command, const Call& call) noexcept
try {
    return end_with({GPUCTR_E_INTERNAL, std::string("internal error: ") + exception.what(), "", 0},
                    with_command, call);
} catch (const std::exception&) {
    (void)std::fprintf(stderr, "gpuctr-setup: internal error: %s%s\n", exception.what(),
                       with_command ? " (error 1)" : "");
    return with_command ? set_up_failed : internal_error;
}

/// A restricted call never goes on without its policy.
void settle(Parser& parser, const Words& words, Call& call)
try {
    settle_options({parser.options(), words.restricted, call.runs_command, call.config},
                   keys_of_command, call.messages(), call.origins);
} catch (const gpucontainer::Error& error) {
    if (words.restricted || !parser.command().goes_on_without_settings(error))
        throw;
}

int run(const Words& words, Call& call)
{
    std::vector<std::string> typed = words.own;
    join_command(typed);
    add_default_command(typed);
    const CommandEntry* const entry = called_command(typed);
    if (entry != nullptr && entry->looks_at_command_line)
        call.runs_command = false;
    if (entry != nullptr && entry->distrusts_environment)
        (void)::clearenv();
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
    call.use_color();
    call.json = parser.command().format() == Format::json;
    parser.command().check_typed(call);
    if (words.has_command
        && (entry == nullptr || !(entry->runs_command_line || entry->looks_at_command_line)))
        throw usage_error_of("", "-- CMD goes with apply, cdi apply and check only");
    if (words.has_command && words.command.empty())
        throw usage_error_of("", "no command after --");
    settle(parser, words, call);
    call.json = parser.command().format() == Format::json;
    parser.command().check_complete();
    return parser.command().run(call);
}

} // namespace
} // namespace gpuctr_cli

int main(int argc, char** argv)
{
    using namespace gpuctr_cli;
    if (is_called_as_front(argc > 0 ? argv[0] : nullptr))
        return run_front(argc, argv);
    Call call = {{stdout, stderr}};
    try {
        const Words words = split(argc, argv);
        call.runs_command = words.has_command;
        call.command_line = words.command;
        call.json = words.json;
        call.color = words.color;
        call.use_color();
        fill_standard_descriptors();
        ignore_output_signals();
        give_up_raised_privileges();
        const int code = run(words, call);
        finish_results(call.streams.out);
        print_held(code, call);
        return code;
    } catch (const gpucontainer::Error& error) {
        return end_with(error, call.runs_command, call);
    } catch (const std::exception& exception) {
        return fail_internally(exception, call.runs_command, call);
    }
}

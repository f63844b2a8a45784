// SPDX-License-Identifier: MIT
#include "front/arguments.hpp"

#include "front/option_table.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"

#include <getopt.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string_view>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

Error mistyped(const std::string& problem)
{
    return {GPUCTR_E_USAGE, problem, "--help lists commands and options", 0};
}

/// Options as getopt_long() takes them.
class Getopt {
public:
    /// `first`: "+" to end at the first word that is no option, or "".
    Getopt(FrontOptions options, const char* first) : options_(options), letters_(first)
    {
        letters_ += ":?";
        int number = first_number;
        for (const FrontOption& option : options) {
            const int needs = option.value == FrontValue::none       ? no_argument
                              : option.value == FrontValue::required ? required_argument
                                                                     : optional_argument;
            if (option.letter != 0) {
                letters_ += option.letter;
                letters_.append(static_cast<std::size_t>(needs), ':');
            }
            words_.push_back({option.name, needs, nullptr, number++});
        }
        words_.push_back({nullptr, 0, nullptr, 0});
    }

    /// Returns how many words were read.
    int read(int argc, char** argv, FrontArguments& into) const
    {
        optind = 0; // anew
        opterr = 0;
        for (;;) {
            optopt = 0;
            const int found = ::getopt_long(argc, argv, letters_.c_str(), words_.data(), nullptr);
            if (found == -1)
                return optind;
            if (found == ':')
                throw mistyped(formatted("option '{}': its value is missing", argv[optind - 1]));
            if (found == '?' && std::string_view(argv[optind - 1]) == "-?") {
                into.action = FrontArguments::Action::help;
                return argc;
            }
            const FrontOption* const option = find(found);
            if (option == nullptr)
                throw mistyped(problem_with(argv[optind - 1]));
            const std::string value = optarg != nullptr ? optarg : "";
            if (option->value != FrontValue::required || option->needs_value || !value.empty())
                option->take(into, value);
        }
    }

private:
    static constexpr int first_number = 256;

    const FrontOption* find(int found) const
    {
        for (std::size_t i = 0; i < options_.size(); ++i)
            if (found == first_number + static_cast<int>(i)
                || (found != '?' && found == options_[i].letter))
                return &options_[i];
        return nullptr;
    }

    static std::string problem_with(const char* word)
    {
        if (optopt > 0 && optopt < first_number)
            return formatted("unknown option '-{}'", static_cast<char>(optopt));
        return formatted("unknown or ambiguous option '{}'", word);
    }

    FrontOptions options_;
    std::string letters_;
    std::vector<option> words_;
};

FrontArguments::Action action_of(std::string_view word)
{
    for (const FrontCommand& command : front_commands())
        if (command.name == word)
            return command.action;
    throw mistyped(formatted("unknown command '{}'", word));
}

void check_root_directory(const FrontArguments& arguments)
{
    if (arguments.rootfs.front() != '/')
        throw mistyped(formatted("{}: not an absolute path", arguments.rootfs));
    if (arguments.rootfs.find_first_not_of("/.") == std::string::npos)
        throw mistyped(formatted("{}: this is the host's own root directory", arguments.rootfs));
}

} // namespace

FrontArguments parse_front(int argc, char** argv)
{
    using Action = FrontArguments::Action;
    FrontArguments arguments;
    arguments.action = Action::configure; // until it is known
    const int word = Getopt(front_global_options(), "+").read(argc, argv, arguments);
    if (arguments.action == Action::help || arguments.action == Action::version)
        return arguments;
    if (word >= argc)
        throw mistyped("a command is missing");
    arguments.action = action_of(argv[word]);
    const Action action = arguments.action;
    const int rest = Getopt(front_options_of(action), "")
                         .read(argc - word, argv + word, arguments); // NOLINT(*-pointer-arithmetic)
    if (arguments.action != action)
        return arguments;
    const int left = argc - word - rest;
    if (left > (action == Action::configure ? 1 : 0))
        throw mistyped(formatted("'{}': one word too many", argv[argc - 1]));
    if (action != Action::configure)
        return arguments;
    if (left == 0 || *argv[argc - 1] == '\0')
        throw mistyped("configure: the root directory of the container is missing");
    arguments.rootfs = argv[argc - 1];
    check_root_directory(arguments);
    return arguments;
}

} // namespace gpuctr_cli

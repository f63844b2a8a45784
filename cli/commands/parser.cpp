// SPDX-License-Identifier: MIT
#include "commands/parser.hpp"

#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "restricted/policy.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

/// Refuses "-nv" for "--nv": it would be -n and -v.
void refuse_missing_dash(const CLI::App& command, const std::string& word)
{
    const bool is_short = word.size() > 2 && word[0] == '-' && word[1] != '-';
    if (!is_short || command.get_option_no_throw("-" + word) == nullptr)
        return;
    throw gpucontainer::Error(
        GPUCTR_E_USAGE, formatted("{}: unknown option {}", words_of(command.get_name()), word),
        formatted("did you mean -{}? {} lists all", word, help_of(command.get_name())), 0, {},
        word.substr(1));
}

} // namespace

Parser::Parser(const CommandEntry* entry, Call& call) : app_("", "gpuctr-setup")
{
    app_.set_help_flag("-h,--help", "print this page");
    app_.set_version_flag("--version", "gpuctr-setup " + std::string(gpucontainer::version()),
                          "print the version");
    app_.fallthrough();
    app_.require_subcommand(1);
    app_.add_flag_callback(
        "-v,--verbose", [&call] { call.verbosity = Verbosity::verbose; },
        "also say what was done, and why");
    app_.add_flag_callback(
        "-q,--quiet", [&call] { call.verbosity = Verbosity::quiet; }, "print only errors");
    add_choice<Color>(
        app_, "--color",
        {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}},
        call.color, "whether headings and problems are coloured");
    app_.add_option("--config", call.config,
                    formatted("another configuration than {}", configuration_file))
        ->type_name("FILE");
    add_restricted_option(app_);
    check_values(app_);
    if (entry == nullptr)
        return;
    command_ = entry->make();
    options_ = app_.add_subcommand(entry->name);
    command_->add_options(*options_);
    check_values(*options_);
}

/// Refuses options that end in "=", too: CLI11 would take the next word as their value.
void Parser::check_words(const std::vector<std::string>& words) const
{
    for (const std::string& word : words) {
        if (options_ != nullptr)
            refuse_missing_dash(*options_, word);
        if (!word.starts_with("--") || word.find('=') != word.size() - 1)
            continue;
        const std::string name = word.substr(0, word.size() - 1);
        const CLI::Option* const option =
            options_ != nullptr ? options_->get_option_no_throw(name) : nullptr;
        const bool is_unknown = option == nullptr && app_.get_option_no_throw(name) == nullptr;
        if (options_ != nullptr && is_unknown)
            continue; // the parser says so
        const std::string type = option != nullptr ? option->get_type_name() : "";
        throw usage_error_of(options_ != nullptr ? options_->get_name() : "",
                             formatted("{}: {} is missing", name, type.empty() ? "a value" : type),
                             name.substr(2));
    }
}

void Parser::parse(std::vector<std::string> words)
{
    check_words(words);
    std::reverse(words.begin(), words.end()); // CLI11 takes the last word first
    app_.parse(words);
}

} // namespace gpuctr_cli

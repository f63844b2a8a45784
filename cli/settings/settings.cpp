// SPDX-License-Identifier: MIT
#include "settings/settings.hpp"

#include "output/format.hpp"
#include "settings/similar.hpp"
#include "syscall/process.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

/// Keys of the policy that are not options.
constexpr std::array switches = {"restricted", "restricted-user"};
constexpr std::array policy_keys = {"restricted", "restricted-user", "restricted-rootfs",
                                    "allowed-devices"};
/// Keys with this prefix are for restricted calls only.
constexpr std::string_view restricted_prefix = "restricted-";

bool is_policy(const CLI::Option& option) { return option.get_group() == policy_group; }

/// Options that must be typed: what a call does, and to which container (--rootfs excepted). A
/// variable that somebody forgot to unset must not undo another set-up. Columns differ from command
/// to command.
constexpr std::array only_typed = {
    "help",       "version", "all",    "undo", "rootfs-fd",       "pid",  "replace", "output",
    "noheadings", "dry-run", "binary", "node", "with-identities", "json", "install", "output-file",
    "by-nodes"};

/// The key of an option; empty if files and variables cannot set it.
std::string name_of(const CLI::Option& option)
{
    const auto& names = option.get_lnames();
    const bool settable =
        !names.empty()
        && std::find(only_typed.begin(), only_typed.end(), names.front()) == only_typed.end();
    return settable ? names.front() : "";
}

/// Where a call looks for what it removes or shows. In the wrong place it would find nothing and
/// report success.
constexpr std::array places = {"state-dir", "staged-tree"};

bool is_place(const std::string& name)
{
    return std::find(places.begin(), places.end(), name) != places.end();
}

/// Whether a typed option or an earlier setting excludes this one. CLI11 checks that only while
/// it parses.
bool is_excluded(const CLI::Option& option)
{
    const auto others = option.get_excludes();
    return std::any_of(others.begin(), others.end(),
                       [](const CLI::Option* other) { return other->count() != 0; });
}

/// Whether a setting has a meaning for the call: for `prepare --undo`, only the staged tree's
/// place. A site's `format` is that of documents; a mistake in it does not stop undo.
bool counts(const CLI::App& command, const std::string& name)
{
    constexpr std::array with_documents = {"list",   "plan",     "check",
                                           "status", "cdi-list", "cdi-validate"};
    if (name == "format")
        return std::find(with_documents.begin(), with_documents.end(), command.get_name())
               != with_documents.end();
    const CLI::Option* const undo = command.get_option_no_throw("--undo");
    return undo == nullptr || undo->count() == 0 || name == "staged-tree";
}

/// Options that may be repeated, and those whose value has commas.
bool takes_list(const CLI::Option& option)
{
    return option.get_items_expected_max() > 1 || option.get_type_name() == "LIST";
}

/// Returns the place.
std::string give(CLI::Option& option, const std::vector<std::string>& values, std::string place)
{
    try {
        if (option.get_items_expected_max() > 1)
            option.add_result(values);
        else
            option.add_result(formatted("{}", fmt::join(values, ",")));
        option.run_callback();
    } catch (const CLI::Error& error) {
        const auto [problem, suggestion] = split_suggestion(error.what());
        throw Error(GPUCTR_E_USAGE, attributed(problem, name_of(option), place), suggestion, 0, {},
                    name_of(option));
    }
    return place;
}

/// Which others take a list, the options say, of the command or of another one.
Keys with_switches(Keys keys)
{
    for (const char* const key : switches)
        keys.emplace(key, false);
    return keys;
}

/// Options of the call that get their value from the file: not typed, and no variable set.
std::vector<std::string> left_to_file(const CLI::App& command)
{
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        const std::string name = name_of(*option);
        if (!name.empty() && counts(command, name) && option->count() == 0 && !is_excluded(*option)
            && trusted_variable(variable_of_option(name)).empty())
            names.push_back(name);
    }
    return names;
}

} // namespace

std::string trusted_variable(const std::string& name)
{
    if (gpucontainer::syscall::is_raised())
        return "";
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
}

bool takes_settings(const CLI::App& command)
{
    const auto options = command.get_options();
    return std::any_of(options.begin(), options.end(),
                       [](const CLI::Option* option) { return !name_of(*option).empty(); });
}

std::string variable_of_option(const std::string& name)
{
    std::string variable = "GPUCTR_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) {
        return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    return variable;
}

Keys keys_of(const CLI::App& command)
{
    Keys keys;
    for (const CLI::Option* option : command.get_options())
        keys[name_of(*option)] = takes_list(*option);
    keys.erase("");
    return keys;
}

std::string Settings::place_of(unsigned line, const std::string& key) const
{
    return formatted("{}:{}: {}", file_, line, key);
}

void Settings::read(const CLI::App& command, KeysOfCommand others)
try {
    const auto config = gpucontainer::Config::with_mistakes(file_);
    std::optional<KnownKeys> known; // where there is no setting, nothing is built
    for (const auto setting : config.settings()) {
        if (!known)
            known.emplace(with_switches(keys_of(command)), others);
        add(setting, *known);
    }
} catch (const Error& error) {
    if (error.object() != file_)
        throw;
    mistakes_.push_back({error, "", 0});
    unreadable_ = true;
}

void Settings::add(const gpucontainer::Setting& setting, KnownKeys& known)
{
    const std::string key(setting.key());
    const auto takes_list = known.takes_list(key);
    std::string problem(setting.mistake());
    if (problem.empty() && !takes_list)
        problem = place_of(setting.line(), key) + ": unknown key";
    else if (problem.empty() && setting.in_list() && !*takes_list)
        problem = place_of(setting.line(), key) + ": a list, where one value is allowed";
    if (problem.empty()) {
        values_.push_back({key, std::string(setting.value()), setting.line()});
        return;
    }
    if (!mistakes_.empty() && mistakes_.back().line == setting.line()
        && mistakes_.back().key == key)
        return; // another value of the same list
    const std::string hint =
        takes_list ? "" : formatted("known keys are {}", fmt::join(known.names(), ", "));
    Error error(GPUCTR_E_USAGE, problem, hint, 0);
    if (std::find(policy_keys.begin(), policy_keys.end(), key) != policy_keys.end())
        throw Error(error);
    mistakes_.push_back({error, key, setting.line()});
}

void Settings::require_faultless() const
{
    if (!mistakes_.empty())
        throw Error(mistakes_.front().error);
}

void Settings::pass_over_mistakes(const CLI::App& command, const Messages& messages) const
{
    const auto needed = left_to_file(command);
    for (const Mistake& mistake : mistakes_) {
        const auto is_needed = [&](const std::string& name) {
            return name == mistake.key
                   || (is_place(name) && (unreadable_ || may_be_meant(mistake.key, name)));
        };
        if (std::any_of(needed.begin(), needed.end(), is_needed))
            throw Error(mistake.error);
    }
    for (const Mistake& mistake : mistakes_)
        messages.warn(
            formatted("{}; {} is ignored", mistake.error.what(), unreadable_ ? "the file" : "it"));
}

void Settings::refuse_policy() const
{
    for (const char* const key : policy_keys)
        if (const Value* const value = find(key))
            throw Error(
                GPUCTR_E_USAGE,
                formatted("{}: only {} sets it", place_of(value->line, key), configuration_file),
                "", 0, {}, "config");
}

const Settings::Value* Settings::find(const std::string& key) const
{
    const auto found = std::find_if(values_.begin(), values_.end(),
                                    [&](const Value& value) { return value.key == key; });
    return found == values_.end() ? nullptr : &*found;
}

std::string Settings::value(const std::string& key, Origins& origins) const
{
    const Value* const found = find(key);
    if (found == nullptr)
        return "";
    origins.add(key, place_of(found->line, key));
    return found->value;
}

bool Settings::is_true(const std::string& key) const
{
    const Value* const found = find(key);
    if (found != nullptr && found->value != "true" && found->value != "false")
        throw Error(GPUCTR_E_USAGE,
                    formatted("{}: '{}' is neither true nor false", place_of(found->line, key),
                              found->value),
                    "", 0);
    return found != nullptr && found->value == "true";
}

void Settings::give_to(CLI::App& command, bool restricted, const Settings& policy,
                       Origins& origins) const
{
    auto options = command.get_options();
    // First --host: if one source has it and options that it excludes, --host counts.
    std::stable_partition(options.begin(), options.end(),
                          [](const CLI::Option* option) { return name_of(*option) == "host"; });
    // Then variables: they override the file, even for options that exclude each other.
    if (!restricted)
        std::stable_partition(options.begin(), options.end(), [](const CLI::Option* option) {
            return !trusted_variable(variable_of_option(name_of(*option))).empty();
        });
    for (CLI::Option* option : options) {
        const std::string name = name_of(*option);
        if (!counts(command, name))
            continue;
        if (const std::string place = give_to(*option, restricted, policy); !place.empty())
            origins.add(name, place);
    }
}

std::string Settings::give_to(CLI::Option& option, bool restricted, const Settings& policy) const
{
    const std::string name = name_of(option);
    if (name.empty())
        return "";
    if (is_policy(option)) {
        if (option.count() != 0)
            throw Error(GPUCTR_E_USAGE,
                        formatted("--{}: only {} sets it", name, configuration_file), "", 0);
        const bool counts = restricted || !name.starts_with(restricted_prefix);
        return counts ? policy.give_from_file(option) : "";
    }
    if (option.count() != 0 || is_excluded(option))
        return "";
    const std::string variable = variable_of_option(name);
    const std::string value = restricted ? "" : trusted_variable(variable);
    return value.empty() ? give_from_file(option) : give(option, {value}, variable);
}

std::string Settings::give_from_file(CLI::Option& option) const
{
    const std::string name = name_of(option);
    std::vector<std::string> values;
    std::string place;
    for (const Value& value : values_) {
        if (value.key != name)
            continue;
        values.push_back(value.value);
        place = place_of(value.line, name);
    }
    return values.empty() ? "" : give(option, values, place);
}

} // namespace gpuctr_cli

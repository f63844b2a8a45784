// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <string>
#include <sys/auxv.h>
#include <vector>

namespace gpuctr_setup {
namespace {

using gpucontainer::Error;

/// Keys that are no option, and options of the policy for restricted calls alone.
constexpr std::array policy_keys = {"restricted", "restricted-user"};
constexpr std::string_view restricted_prefix = "restricted-";

bool is_policy(const CLI::Option& option) { return option.get_group() == policy_group; }

/// What a call does and to which container, but for a site's usual root: a value
/// forgotten in the environment must not undo another set-up than the one typed.
constexpr std::array only_typed = {"help", "version", "all", "undo", "rootfs-fd", "pid"};

/// What files and variables call the option; empty for what they cannot set.
std::string name_of(const CLI::Option& option)
{
    const auto& names = option.get_lnames();
    const bool settable =
        !names.empty()
        && std::find(only_typed.begin(), only_typed.end(), names.front()) == only_typed.end();
    return settable ? names.front() : "";
}

/// CLI11 looks at this while it parses, before there are settings.
bool is_excluded(const CLI::Option& option)
{
    const auto others = option.get_excludes();
    return std::any_of(others.begin(), others.end(),
                       [](const CLI::Option* other) { return other->count() != 0; });
}

std::string variable_of(const std::string& name)
{
    std::string variable = "GPUCTR_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) {
        return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    return variable;
}

void give(CLI::Option& option, const std::vector<std::string>& values, const std::string& origin)
{
    try {
        // A list for an option of one value is that option's own comma-separated list.
        if (option.get_items_expected_max() > 1)
            option.add_result(values);
        else
            option.add_result(fmt::format("{}", fmt::join(values, ",")));
        option.run_callback();
    } catch (const CLI::Error& error) {
        throw Error(GPUCTR_E_USAGE, fmt::format("{}: {}", origin, error.what()),
                    "gpuctr-setup --help", 0);
    }
}

std::string origin(const gpucontainer::Setting& setting)
{
    return fmt::format("{}: line {}", configuration_file, setting.line());
}

} // namespace

std::string trusted_variable(const std::string& name)
{
    if (::getauxval(AT_SECURE) != 0)
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

Settings::Settings(const CLI::App& app) : config_(configuration_file)
{
    std::set<std::string> known(policy_keys.begin(), policy_keys.end());
    for (const CLI::App* command : app.get_subcommands({}))
        for (const CLI::Option* option : command->get_options())
            known.insert(name_of(*option));
    known.erase("");
    for (const auto setting : config_.settings())
        if (!known.contains(std::string(setting.key())))
            throw Error(GPUCTR_E_USAGE,
                        fmt::format("{}: unknown key {}", origin(setting), setting.key()),
                        fmt::format("known are {}", fmt::join(known, ", ")), 0);
}

std::string Settings::value(std::string_view key) const
{
    std::string value;
    for (const auto setting : config_.settings()) {
        if (setting.key() != key)
            continue;
        if (!value.empty())
            throw Error(GPUCTR_E_USAGE,
                        fmt::format("{}: {} has more than one value", origin(setting), key), "", 0);
        value = setting.value();
    }
    return value;
}

bool Settings::is_true(std::string_view key) const
{
    const std::string text = value(key);
    if (!text.empty() && text != "true" && text != "false")
        throw Error(GPUCTR_E_USAGE,
                    fmt::format("{}: {} is neither true nor false", configuration_file, key), "",
                    0);
    return text == "true";
}

void Settings::give_to(CLI::App& command, bool restricted) const
{
    for (CLI::Option* option : command.get_options())
        give_to(*option, restricted);
}

void Settings::give_to(CLI::Option& option, bool restricted) const
{
    const std::string name = name_of(option);
    if (name.empty())
        return;
    if (is_policy(option)) {
        if (option.count() != 0)
            throw Error(GPUCTR_E_USAGE,
                        fmt::format("--{}: only {} sets it", name, configuration_file),
                        "gpuctr-setup --help", 0);
        if (restricted || !name.starts_with(restricted_prefix))
            give_from_file(option);
        return;
    }
    if (option.count() != 0 || is_excluded(option))
        return;
    const std::string variable = variable_of(name);
    if (const std::string value = restricted ? "" : trusted_variable(variable); !value.empty())
        give(option, {value}, variable);
    else
        give_from_file(option);
}

void Settings::give_from_file(CLI::Option& option) const
{
    std::vector<std::string> values;
    std::string where;
    for (const auto setting : config_.settings()) {
        if (setting.key() != name_of(option))
            continue;
        values.emplace_back(setting.value());
        where = origin(setting);
    }
    if (!values.empty())
        give(option, values, where);
}

} // namespace gpuctr_setup

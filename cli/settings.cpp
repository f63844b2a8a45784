// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gpucontainer/config.hpp>
#include <set>
#include <string>
#include <sys/auxv.h>
#include <vector>

namespace gpuctr_setup {
namespace {

using gpucontainer::Error;

constexpr const char* configuration_file = "/etc/gpucontainer/config.yaml";

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

/// The settings of the file, each for an option of some command.
class File {
public:
    explicit File(const CLI::App& app) : config_(configuration_file)
    {
        if (config_.settings().empty())
            return;
        std::set<std::string> known;
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

    void give_to(CLI::Option& option) const
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

private:
    static std::string origin(const gpucontainer::Setting& setting)
    {
        return fmt::format("{}: line {}", configuration_file, setting.line());
    }

    gpucontainer::Config config_;
};

void add_setting(CLI::Option& option, const File& file)
{
    const std::string name = name_of(option);
    if (name.empty())
        return;
    if (is_policy(option)) {
        if (option.count() != 0)
            throw Error(GPUCTR_E_USAGE,
                        fmt::format("--{}: only {} sets it", name, configuration_file),
                        "gpuctr-setup --help", 0);
        return file.give_to(option);
    }
    if (option.count() != 0 || is_excluded(option))
        return;
    const std::string variable = variable_of(name);
    if (const std::string value = trusted_variable(variable); !value.empty())
        give(option, {value}, variable);
    else
        file.give_to(option);
}

} // namespace

std::string trusted_variable(const std::string& name)
{
    if (::getauxval(AT_SECURE) != 0)
        return "";
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
}

void add_settings(const CLI::App& app)
{
    for (CLI::App* command : app.get_subcommands()) {
        const auto options = command->get_options();
        if (std::all_of(options.begin(), options.end(),
                        [](const CLI::Option* option) { return name_of(*option).empty(); }))
            continue;
        const File file(app);
        for (CLI::Option* option : command->get_options())
            add_setting(*option, file);
    }
}

} // namespace gpuctr_setup

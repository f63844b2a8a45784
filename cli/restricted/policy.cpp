// SPDX-License-Identifier: MIT
#include "restricted/policy.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "restricted/user.hpp"
#include "settings/settings.hpp"
#include "syscall/process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace gpuctr_cli {
namespace {

constexpr const char* restricted_key = "restricted";
constexpr const char* user_key = "restricted-user";
constexpr const char* config_variable = "GPUCTR_CONFIG";

/// What may be typed in a restricted call. All other options are refused, new ones too.
constexpr std::array allowed_options = {"nv",          "rocm",        "intel",
                                        "hpu",         "gpu",         "vendor",
                                        "if-present",  "device",      "driver-capabilities",
                                        "vendor-libs", "layout",      "lock",
                                        "require",     "request-env", "rootfs",
                                        "format",      "json",        "output",
                                        "noheadings",  "chdir",       "setenv",
                                        "clean-env",   "cuda-compat", "glibc"};

/// What a container asks for by it is an extra, which may not be typed either.
constexpr std::string_view variable_of_extras = "NVIDIA_IMEX_CHANNELS";

/// By which the caller's own variables become the container's.
constexpr std::array prefixes_of_container = {"SINGULARITYENV_", "APPTAINERENV_"};

[[noreturn]] void refuse(const std::string& what, const std::string& hint)
{
    throw gpucontainer::Error(GPUCTR_E_PERMISSION, what + ": refused in a restricted call", hint,
                              0);
}

std::string ask_for(const std::string& key)
{
    return formatted("an administrator sets {} in {}", key, configuration_file);
}

void check_command(const CLI::App& command, bool with_command)
{
    const std::string& name = command.get_name();
    if (name != "list" && name != "plan" && (name != "apply" || !with_command))
        refuse(name == "apply" ? "apply without -- CMD" : words_of(name),
               "list, plan, and apply with -- CMD are allowed");
    for (const CLI::Option* option : command.get_options()) {
        const std::string key = option->get_single_name();
        const bool allowed =
            std::find(allowed_options.begin(), allowed_options.end(), key) != allowed_options.end();
        if (option->count() != 0 && !allowed)
            refuse("--" + key, ask_for("it for all restricted calls"));
        if (key == "request-env")
            for (const std::string& variable : option->results())
                if (variable.starts_with(formatted("{}=", variable_of_extras)))
                    refuse("--request-env " + variable, ask_for("extras for all restricted calls"));
    }
}

/// The site may have containers obey their variables, but a caller sets none of these.
void check_variables(const CLI::App& command)
{
    const CLI::Option* const obeyed = command.get_option_no_throw("--image-env");
    if (obeyed == nullptr || obeyed->count() == 0)
        return;
    for (const char* const prefix : prefixes_of_container) {
        const std::string name = formatted("{}{}", prefix, variable_of_extras);
        if (std::getenv(name.c_str()) != nullptr)
            refuse(name, ask_for("extras for all restricted calls"));
    }
}

void restrict(CLI::App& command, const Settings& settings, bool with_command, Origins& origins)
{
    settings.require_faultless();
    check_command(command, with_command);
    const CLI::Option* const root = command.get_option_no_throw("--rootfs");
    const bool chooses_root = root != nullptr && root->count() != 0;
    settings.give_to(command, true, settings, origins);
    check_variables(command);
    if (chooses_root && command.get_option("--restricted-rootfs")->count() == 0)
        refuse("--rootfs", ask_for("restricted-rootfs"));
    const std::string user = settings.value(user_key, origins);
    if (user.empty())
        throw gpucontainer::Error(GPUCTR_E_PERMISSION, "restricted call: no restricted-user is set",
                                  ask_for("restricted-user"), 0);
    become_restricted_user(user);
}

/// Whether the command only shows or removes. Others set something up.
bool looks_or_takes_away(const CLI::App& command)
{
    const std::string& name = command.get_name();
    return name == "undo" || name == "status" || name == "list" || name == "check"
           || (name == "prepare" && command.get_option("--undo")->count() != 0);
}

/// `needs_file`: a file that cannot be read is not passed over.
void settle(CLI::App& command, const Settings& settings, bool needs_file, const Messages& messages)
{
    if (looks_or_takes_away(command) && !(settings.is_unreadable() && needs_file))
        settings.pass_over_mistakes(command, messages);
    else
        settings.require_faultless();
}

/// The file that the call names; "" if it is the site's.
std::string named_file(const TypedCall& call)
{
    if (!call.config.empty() && gpucontainer::syscall::is_raised())
        throw gpucontainer::Error(
            GPUCTR_E_PERMISSION,
            "--config: refused, because this program is setuid, setgid or has "
            "file capabilities",
            formatted("the configuration is {}", configuration_file), 0, {}, "config");
    return call.config.empty() ? trusted_variable(config_variable) : call.config;
}

/// Of a missing file the site's would be told; of one that the call names, somebody expects it.
void check_exists(const std::string& file)
{
    struct stat status = {};
    if (::lstat(file.c_str(), &status) != 0)
        fail("configuration " + file, GPUCTR_E_USAGE, "", "config");
}

/// What a file has that the call names instead of the site's.
Settings read_named(const std::string& file, const TypedCall& call, KeysOfCommand keys,
                    const Settings& site)
{
    if (site.is_unreadable()) // nobody knows its policy
        site.require_faultless();
    check_exists(file);
    Settings settings(call.command, keys, file);
    settings.refuse_policy();
    return settings;
}

void settle_by(const Settings& settings, const TypedCall& call, const Settings& site,
               const Messages& messages, Origins& origins)
{
    settle(call.command, settings, true, messages);
    settings.give_to(call.command, false, site, origins);
}

} // namespace

void add_restricted_option(CLI::App& app)
{
    const std::string help =
        "allow GPUs and nothing else, as the user whom a site's policy names; for sudoers";
    // Takes no value, because --restricted=false would seem to lift the restriction.
    app.add_flag("--restricted", help)->disable_flag_override();
}

void settle_options(const TypedCall& call, KeysOfCommand keys, const Messages& messages,
                    Origins& origins)
{
    if (!takes_settings(call.command))
        return;
    const std::string file = named_file(call);
    const Settings settings(call.command, keys, configuration_file);
    // Even if the call is restricted anyway: a mistake in the policy ends every call.
    const bool for_all = settings.is_true(restricted_key);
    const bool restricted = call.restricted || (for_all && has_privileges());
    if (restricted && !call.config.empty())
        refuse("--config", formatted("the configuration is {}", configuration_file));
    if (restricted) {
        restrict(call.command, settings, call.with_command, origins);
    } else if (!file.empty()) {
        settle_by(read_named(file, call, keys, settings), call, settings, messages, origins);
    } else {
        // An unreadable file may be meant to restrict calls that have privileges.
        settle(call.command, settings, has_privileges(), messages);
        settings.give_to(call.command, false, settings, origins);
    }
}

} // namespace gpuctr_cli

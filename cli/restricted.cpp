// SPDX-License-Identifier: MIT
#include "restricted.hpp"

#include "restricted_user.hpp"
#include "settings.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string>

namespace gpuctr_setup {
namespace {

constexpr const char* restricted_key = "restricted";
constexpr const char* user_key = "restricted-user";

/// What may be typed in a restricted call. Whatever is not here is refused, an option
/// that is added one day as well.
constexpr std::array allowed_options = {
    "nv",          "rocm",       "intel",  "hpu",
    "gpu",         "if-present", "device", "driver-capabilities",
    "vendor-libs", "layout",     "lock",   "rootfs",
    "format",      "chdir",      "setenv",
};

[[noreturn]] void refuse(const std::string& what, const std::string& hint)
{
    throw gpucontainer::Error(GPUCTR_E_PERMISSION, what + ": refused in a restricted call", hint,
                              0);
}

std::string ask_for(const std::string& key)
{
    return fmt::format("an administrator sets {} in {}", key, configuration_file);
}

void check_command(const CLI::App& command, bool with_command)
{
    const std::string& name = command.get_name();
    if (name != "list" && name != "plan" && (name != "apply" || !with_command))
        refuse(name == "apply" ? "apply without -- CMD" : name,
               "list, plan, and apply with -- CMD are allowed");
    for (const CLI::Option* option : command.get_options()) {
        const std::string key = option->get_single_name();
        const bool allowed =
            std::find(allowed_options.begin(), allowed_options.end(), key) != allowed_options.end();
        if (option->count() != 0 && !allowed)
            refuse("--" + key, ask_for("it for all restricted calls"));
    }
}

void restrict(CLI::App& command, const Settings& settings, bool with_command)
{
    check_command(command, with_command);
    const CLI::Option* const root = command.get_option_no_throw("--rootfs");
    const bool chooses_root = root != nullptr && root->count() != 0;
    settings.give_to(command, true);
    if (chooses_root && command.get_option("--restricted-rootfs")->count() == 0)
        refuse("--rootfs", ask_for("restricted-rootfs"));
    const std::string user = settings.value(user_key);
    if (user.empty())
        throw gpucontainer::Error(GPUCTR_E_PERMISSION, "restricted call: no restricted-user is set",
                                  ask_for("restricted-user"), 0);
    become_restricted_user(user);
}

} // namespace

void add_restricted_option(CLI::App& app)
{
    const std::string help = "give GPUs and nothing else, as a site's policy says";
    // Without values: --restricted=false would read as taking it back.
    app.add_flag("--restricted", help)->disable_flag_override();
}

void settle_options(const CLI::App& app, bool restricted, bool with_command)
{
    for (CLI::App* command : app.get_subcommands()) {
        if (!takes_settings(*command))
            continue;
        const Settings settings(app);
        // Looked at in any case: a mistake in the policy ends every call.
        const bool for_all = settings.is_true(restricted_key);
        if (restricted || (for_all && has_privileges()))
            restrict(*command, settings, with_command);
        else
            settings.give_to(*command, false);
    }
}

} // namespace gpuctr_setup

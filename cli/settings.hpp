// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <gpucontainer/config.hpp>

#include <string>
#include <string_view>

namespace gpuctr_setup {

/// An option of this group is policy: only the configuration file sets it, and
/// --help does not show it.
inline constexpr const char* policy_group = "";

inline constexpr const char* configuration_file = "/etc/gpucontainer/config.yaml";

/// Whether there is an option that a site can set.
bool takes_settings(const CLI::App& command);

/// What a site's file says, each for an option of some command or for the policy.
class Settings {
public:
    /// Reads the file; `app` has the commands. Throws gpucontainer::Error: usage, permission.
    explicit Settings(const CLI::App& app);

    /// Of a key of the policy: false and "" where the file lacks it. Throws: usage.
    bool is_true(std::string_view key) const;
    std::string value(std::string_view key) const;

    /// Gives the options that the command line left out their values: from a variable
    /// GPUCTR_<OPTION>, unless privileges are raised, else from the file. What names the
    /// target or the action is left alone, and so is what does not go with an option that
    /// was typed. A `restricted` call takes no variable, and the policy for such calls.
    /// Throws: usage.
    void give_to(CLI::App& command, bool restricted) const;

private:
    void give_to(CLI::Option& option, bool restricted) const;
    void give_from_file(CLI::Option& option) const;

    gpucontainer::Config config_;
};

/// Empty for a variable that is not set, or must not count: a program started
/// with more rights than its caller has takes nothing from him.
std::string trusted_variable(const std::string& name);

} // namespace gpuctr_setup

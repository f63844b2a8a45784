// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"
#include "settings/known_keys.hpp"
#include "settings/origins.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// An option of this group is policy: only the configuration file sets it, and
/// --help does not show it.
inline constexpr const char* policy_group = "";

inline constexpr const char* configuration_file = "/etc/gpucontainer/config.yaml";

/// Whether there is an option that a site can set.
bool takes_settings(const CLI::App& command);

/// The settings in a site's file, for options of commands and for the policy.
class Settings {
public:
    /// Reads `file`, whose keys are those of `command`, of the other commands and of the policy.
    /// Mistakes are kept for the functions below. Throws gpucontainer::Error for a mistake that may
    /// concern the policy: usage.
    Settings(const CLI::App& command, KeysOfCommand others, std::string file)
        : file_(std::move(file))
    {
        read(command, others);
    }

    /// Whether the file could not be read at all.
    bool is_unreadable() const noexcept { return unreadable_; }
    /// For a call that sets something up, or is restricted. Throws the first mistake: usage,
    /// permission.
    void require_faultless() const;
    /// For a call that only shows or removes: warns of mistakes. Throws the mistake if `command`
    /// needs the value of its key, or if the key may be meant for the place where `command`
    /// looks: usage, permission.
    void pass_over_mistakes(const CLI::App& command, const Messages& messages) const;

    /// For a file that the caller names. Throws if a key of the policy is in it: usage.
    void refuse_policy() const;

    /// For keys of the policy that are not options: false or "" if the file lacks the key.
    /// Throws: usage.
    bool is_true(const std::string& key) const;
    std::string value(const std::string& key, Origins& origins) const;

    /// Sets options that were not typed: from a variable GPUCTR_<OPTION>, unless privileges are
    /// raised, else from the file. Does not set the target or the action, nor options that a
    /// typed one excludes. A `restricted` call gets nothing from variables, and the policy for
    /// restricted calls. The policy is that of the file of `policy`. Adds what it set to
    /// `origins`. Throws: usage.
    void give_to(CLI::App& command, bool restricted, const Settings& policy,
                 Origins& origins) const;

private:
    void read(const CLI::App& command, KeysOfCommand others);

    /// One value of the file.
    struct Value {
        std::string key;
        std::string value;
        unsigned line;
    };
    struct Mistake {
        gpucontainer::Error error;
        std::string key; ///< As in the file; "" if it is not text, or for the whole file.
        unsigned line;   ///< 0 for the whole file.
    };

    void add(const gpucontainer::Setting& setting, KnownKeys& known);
    /// Null where the file lacks the key.
    const Value* find(const std::string& key) const;
    /// "FILE:LINE: KEY"
    std::string place_of(unsigned line, const std::string& key) const;
    /// Where the value comes from; "" if the option is not set.
    std::string give_to(CLI::Option& option, bool restricted, const Settings& policy) const;
    std::string give_from_file(CLI::Option& option) const;

    std::string file_;
    std::vector<Value> values_;
    std::vector<Mistake> mistakes_;
    bool unreadable_ = false;
};

/// The variable that sets an option: GPUCTR_DRIVER_ROOT for "driver-root", or for its key.
std::string variable_of_option(const std::string& name);

/// What a site can set of the options of a command.
Keys keys_of(const CLI::App& command);

/// Value of an environment variable. Empty if it is not set, or if the process has more
/// privileges than its caller (AT_SECURE).
std::string trusted_variable(const std::string& name);

} // namespace gpuctr_cli

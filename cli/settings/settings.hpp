// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"
#include "settings/known_keys.hpp"
#include "settings/origins.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gpuctr_cli {

/// An option of this group is policy: only the configuration file sets it, and
/// --help does not show it.
inline constexpr const char* policy_group = "";

inline constexpr const char* configuration_file = "/etc/gpucontainer/config.yaml";

/// Whether there is an option that a site can set.
bool takes_settings(const CLI::App& command);

/// What a site's file says, each for an option of some command or for the policy.
class Settings {
public:
    /// Reads the file, whose keys are those of `command`, of the other commands and of the
    /// policy. Mistakes in it are kept for the two below, but for one that may concern the policy.
    /// Throws gpucontainer::Error for that: usage.
    Settings(const CLI::App& command, KeysOfCommand others) { read(command, others); }

    /// Whether nothing is known of what the file says.
    bool is_unreadable() const noexcept { return unreadable_; }
    /// For a call that sets something up, or is restricted. Throws the first mistake: usage,
    /// permission.
    void require_faultless() const;
    /// For one that takes away or looks: a mistake is a warning unless `command` needs what the
    /// key says, which nobody told it otherwise. So it does when the key may be meant for where
    /// it is to look. Throws: usage, permission.
    void pass_over_mistakes(const CLI::App& command, const Messages& messages) const;

    /// Of a key of the policy that is no option: false and "" where the file lacks it. Throws:
    /// usage.
    bool is_true(const std::string& key) const;
    std::string value(const std::string& key, Origins& origins) const;

    /// Gives the options that the command line left out their values: from a variable
    /// GPUCTR_<OPTION>, unless privileges are raised, else from the file. What names the
    /// target or the action is left alone, and so is what does not go with an option that
    /// was typed. A `restricted` call takes no variable, and the policy for such calls.
    /// Adds what it gave to `origins`. Throws: usage.
    void give_to(CLI::App& command, bool restricted, Origins& origins) const;

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
        std::string key; ///< As it is in the file; "" for what is none, and of the whole file.
        unsigned line;   ///< 0 of the whole file.
    };

    void add(const gpucontainer::Setting& setting, KnownKeys& known);
    /// Null where the file lacks the key.
    const Value* find(const std::string& key) const;
    /// The place of what it gave; "" where it left the option alone.
    std::string give_to(CLI::Option& option, bool restricted) const;
    std::string give_from_file(CLI::Option& option) const;

    std::vector<Value> values_;
    std::vector<Mistake> mistakes_;
    bool unreadable_ = false;
};

/// What a site can set of the options of a command.
Keys keys_of(const CLI::App& command);

/// Empty for a variable that is not set, or must not count: a program started
/// with more rights than its caller has takes nothing from him.
std::string trusted_variable(const std::string& name);

} // namespace gpuctr_cli

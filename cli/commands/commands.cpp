// SPDX-License-Identifier: MIT
#include "commands/commands.hpp"

#include "output/failure.hpp"

#include <algorithm>
#include <array>

namespace gpuctr_cli {

namespace {

constexpr std::array table = {
    &apply_command,     &plan_command,         &list_command,         &check_command,
    &prepare_command,   &undo_command,         &status_command,       &hook_command,
    &cdi_command,       &cdi_generate_command, &cdi_validate_command, &cdi_list_command,
    &cdi_apply_command, &why_command,          &report_command,       &version_command,
};

} // namespace

std::span<const CommandEntry* const> commands() { return table; }

const CommandEntry* find_command(const std::string& name)
{
    const auto* const found = std::find_if(
        table.begin(), table.end(), [&](const CommandEntry* entry) { return entry->name == name; });
    return found != table.end() ? *found : nullptr;
}

const CommandEntry& default_command() { return apply_command; }

std::vector<std::string> commands_with(const std::string& option)
{
    std::vector<std::string> names;
    for (const CommandEntry* const entry : table) {
        CLI::App app;
        const auto command = entry->make();
        command->add_options(app);
        if (app.get_option_no_throw(option) != nullptr)
            names.push_back(words_of(entry->name));
    }
    return names;
}

std::optional<Keys> keys_of_command(std::size_t index)
{
    if (index >= table.size())
        return std::nullopt;
    CLI::App app;
    const auto command = table[index]->make(); // NOLINT(*-constant-array-index): checked
    command->add_options(app);
    return keys_of(app);
}

} // namespace gpuctr_cli

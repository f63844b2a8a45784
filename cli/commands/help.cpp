// SPDX-License-Identifier: MIT
#include "commands/help.hpp"

#include "commands/commands.hpp"
#include "options/groups.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"

#include <array>
#include <sstream>
#include <string_view>
#include <vector>

namespace gpuctr_cli {
namespace {

constexpr std::size_t page_width = 80;
// Width of the left column, with its margins.
constexpr std::size_t option_width = 28;
constexpr std::size_t command_width = 12;

constexpr const char* about_all =
    R"(Put the GPUs of this host into a container's root file system: the driver's
files, the loader cache that finds them, and the device nodes.

Everyday calls:
  gpuctr-setup list                         show the GPUs of this host
  gpuctr-setup --nv --rootfs DIR            set up the NVIDIA GPUs in DIR
  gpuctr-setup --nv --rootfs DIR -- CMD     run CMD in DIR with them; DIR is
                                            not written
  gpuctr-setup --nv --device 0 --rootfs DIR -- CMD
                                            the same with the first GPU only
  gpuctr-setup undo --rootfs DIR            undo what was set up in DIR

VENDOR is --nv (NVIDIA), --rocm (AMD), --intel (Intel GPUs), --hpu (Intel Gaudi)
or --gpu (every vendor that has GPUs here).
)";

constexpr const char* see_also = R"(
`gpuctr-setup COMMAND --help` explains a command and lists its options. The
options that choose GPUs and driver files are in `gpuctr-setup apply --help`.
)";

/// Appends a text to the last line of `page`, wrapped, in a column that begins at `name_width`.
void add_wrapped(std::string& page, const std::string& text, std::size_t name_width)
{
    const std::string margin(name_width, ' ');
    std::size_t column = name_width;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const bool first = column == name_width;
        if (!first && column + 1 + word.size() > page_width) {
            page += "\n" + margin;
            column = name_width;
        } else if (!first) {
            page += ' ';
            ++column;
        }
        page += word;
        column += word.size();
    }
    page += '\n';
}

/// A name in the left column, and its description in the right one.
void add_entry(std::string& page, const std::string& name, const std::string& text,
               std::size_t name_width = option_width)
{
    page += name;
    const bool fits = name.size() + 2 <= name_width;
    page += fits ? std::string(name_width - name.size(), ' ') : "\n" + std::string(name_width, ' ');
    add_wrapped(page, text, name_width);
}

void add_option(std::string& page, const CLI::Option& option)
{
    std::string name = "  ";
    for (const std::string& letter : option.get_snames())
        name += formatted("-{}, ", letter);
    name += formatted("--{}", option.get_lnames().front());
    if (option.get_items_expected_max() != 0)
        name += " " + option.get_type_name();
    const std::string standard = option.get_default_str();
    add_entry(page, name,
              option.get_description()
                  + (standard.empty() ? "" : formatted(" (default: {})", standard)));
}

void add_group(std::string& page, const CLI::App& app, const char* group)
{
    const auto options = app.get_options([&](const CLI::Option* option) {
        return option->get_group() == group && option != app.get_help_ptr();
    });
    if (!options.empty())
        page += formatted("\n{}:\n", group);
    for (const CLI::Option* const option : options)
        add_option(page, *option);
}

void add_usage(std::string& page, const CommandEntry& entry)
{
    const bool may_be_left_out = &entry == &default_command();
    const std::string name = may_be_left_out ? formatted("[{}]", entry.name) : words_of(entry.name);
    std::istringstream forms(entry.usage);
    std::string form;
    do {
        std::getline(forms, form);
        page += formatted("{} gpuctr-setup {}{}{}\n", page.empty() ? "Usage:" : "      ", name,
                          form.empty() ? "" : " ", form);
    } while (!forms.eof());
}

/// The commands of a group, such as "cdi", or "" for those of none. Prints nothing if there are
/// none.
void add_commands(std::string& page, const std::string& group)
{
    std::string entries;
    for (const CommandEntry* const entry : commands()) {
        const std::string name = entry->name;
        const auto dash = name.find('-');
        if (group == (dash == std::string::npos ? "" : name.substr(0, dash)))
            add_entry(entries, formatted("  {}", name.substr(dash + 1)), entry->summary,
                      command_width);
    }
    if (!entries.empty())
        page += formatted("\nCommands:\n{}", entries);
}

std::string page_of_all(const CLI::App& app)
{
    std::string page;
    add_usage(page, default_command());
    page += "       gpuctr-setup COMMAND [OPTION]...\n\n";
    page += about_all;
    add_commands(page, "");
    page += formatted("\n{}:\n", of_every_command);
    for (const CLI::Option* const option : app.get_options())
        add_option(page, *option);
    return page + see_also;
}

} // namespace

std::string help_page(const CommandEntry* entry, const CLI::App& app)
{
    if (entry == nullptr)
        return page_of_all(app);
    std::string page;
    add_usage(page, *entry);
    page += entry->about;
    add_commands(page, entry->name);
    const CLI::App& command = *app.get_subcommand(entry->name);
    for (const char* const group :
         {which_gpus, which_files, where, how, for_command, what_is_printed})
        add_group(page, command, group);
    page += formatted("\n{}:\n", of_every_command);
    for (const CLI::Option* const option : app.get_options())
        add_option(page, *option);
    return page;
}

} // namespace gpuctr_cli

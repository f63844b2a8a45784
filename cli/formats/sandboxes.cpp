// SPDX-License-Identifier: MIT
// bubblewrap and systemd-nspawn.
#include "formats/formats.hpp"
#include "formats/quoting.hpp"
#include "output/format.hpp"

namespace gpuctr_cli {
namespace {

std::string nspawn_pair(const std::string& source, const std::string& target)
{
    return escaped(source, ":") + ":" + escaped(target, ":");
}

} // namespace

std::string bwrap_options(const Given& given, Notes& notes)
{
    OptionLines options;
    for (const GivenFile& file : given.files)
        options.add({"--ro-bind", file.source, file.target});
    for (const GivenNode& node : given.nodes)
        options.add({"--dev-bind", node.source, node.target});
    for (const GivenVariable& variable : given.variables) {
        if (variable.value)
            options.add({"--setenv", variable.name, *variable.value});
        else
            options.add({"--unsetenv", variable.name});
    }
    notes.emplace_back("for bwrap, they come after the options that make the root directory and "
                       "--dev /dev; names that the image lacks are made in it, so they need a "
                       "directory that can be written");
    return options.text();
}

std::string nspawn_options(const Given& given, Notes& notes)
{
    OptionLines options;
    for (const GivenFile& file : given.files)
        options.add({"--bind-ro=" + nspawn_pair(file.source, file.target)});
    for (const GivenNode& node : given.nodes)
        options.add({"--bind=" + nspawn_pair(node.source, node.target)});
    // It takes no variable of the caller along, so nothing is to be unset.
    for (const GivenVariable& variable : given.variables)
        if (variable.value)
            options.add({formatted("--setenv={}={}", variable.name, *variable.value)});
    notes.emplace_back("systemd-nspawn makes names that the image lacks in it: with --read-only, "
                       "add --volatile=overlay");
    return options.text();
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
// Docker and podman.
#include "formats/formats.hpp"
#include "formats/quoting.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

/// A mount as one line of comma-separated values. Go's reader takes CR LF for LF.
std::string mount_value(const GivenFile& file)
{
    return formatted("type=bind,{},{},readonly", csv_field("source=" + file.source),
                     csv_field("target=" + file.target));
}

/// Both split it at colons, and podman at commas first.
std::string device_value(const GivenNode& node, const char* what)
{
    for (const std::string& path : {node.source, node.target})
        refuse(path, ":,\"\r\n", what);
    return formatted("{}:{}:rw", node.source, node.target);
}

/// Their containers have the image's variables, not those of the caller: nothing is to be unset.
void add_variables(OptionLines& options, const Given& given)
{
    for (const GivenVariable& variable : given.variables)
        if (variable.value)
            options.add({formatted("--env={}={}", variable.name, *variable.value)});
}

/// podman reads --mount as values separated by commas from version 4.4 on; before, it splits at
/// each comma. --volume splits at colons.
std::string podman_mount(const GivenFile& file)
{
    const auto has = [&](const char* characters) {
        return (file.source + file.target).find_first_of(characters) != std::string::npos;
    };
    if (!has(",\"\r\n"))
        return "--mount=" + mount_value(file);
    for (const std::string& path : {file.source, file.target})
        refuse(path, ":", "podman, beside a comma, a quote or a line break,");
    return formatted("--volume={}:{}:ro", file.source, file.target);
}

} // namespace

std::string docker_options(const Given& given, Notes& /*notes*/)
{
    OptionLines options;
    for (const GivenNode& node : given.nodes)
        options.add({"--device=" + device_value(node, "docker's --device")});
    for (const GivenFile& file : given.files) {
        for (const std::string& path : {file.source, file.target})
            if (path.find("\r\n") != std::string::npos)
                refuse(path, "\r", "docker's --mount");
        options.add({"--mount=" + mount_value(file)});
    }
    add_variables(options, given);
    for (const std::uint32_t group : given.groups)
        options.add({formatted("--group-add={}", group)});
    return options.text();
}

std::string podman_options(const Given& given, Notes& notes)
{
    OptionLines options;
    for (const GivenNode& node : given.nodes)
        options.add({"--device=" + device_value(node, "podman's --device")});
    for (const GivenFile& file : given.files)
        options.add({podman_mount(file)});
    add_variables(options, given);
    if (given.groups.empty())
        return options.text();
    if (::geteuid() == 0) {
        for (const std::uint32_t group : given.groups)
            options.add({formatted("--group-add={}", group)});
    } else {
        // A container of a user has none of the host's numbers of groups.
        options.add({"--group-add=keep-groups"});
        notes.emplace_back("podman keeps the caller's groups, which may open the nodes, with crun "
                           "alone, and takes no other --group-add then");
    }
    return options.text();
}

} // namespace gpuctr_cli

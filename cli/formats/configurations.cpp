// SPDX-License-Identifier: MIT
// LXC and Incus, which have files.
#include "formats/formats.hpp"
#include "formats/quoting.hpp"
#include "output/characters.hpp"
#include "output/format.hpp"
#include "output/json.hpp"

#include <string_view>

namespace gpuctr_cli {
namespace {

std::string lxc_mount(const std::string& source, const std::string& target,
                      std::string_view options)
{
    return formatted("lxc.mount.entry = {} {} none {} 0 0\n", fstab_field(source),
                     fstab_field(std::string_view(target).substr(1)), options);
}

/// A string of YAML is one of JSON.
std::string yaml_string(const std::string& text)
{
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t length = length_of_character(rest);
        if (length == 0)
            throw gpucontainer::Error(GPUCTR_E_USAGE,
                                      formatted("{}: a profile of Incus cannot express what is "
                                                "not UTF-8",
                                                text),
                                      "", 0, text);
        rest.remove_prefix(length);
    }
    return json_string(text);
}

} // namespace

std::string lxc_configuration(const Given& given, Notes& notes)
{
    std::string text = "# Lines for the configuration of a container.\n";
    for (const GivenFile& file : given.files)
        text += lxc_mount(file.source, file.target,
                          formatted("{},ro,nosuid,nodev{}",
                                    file.is_directory ? "rbind,create=dir" : "bind,create=file",
                                    file.may_execute ? "" : ",noexec"));
    for (const GivenNode& node : given.nodes)
        text += lxc_mount(node.source, node.target, "bind,create=file");
    if (!given.nodes.empty())
        text += "# With control groups of version 1, the key is lxc.cgroup.devices.allow.\n";
    for (const GivenNode& node : given.nodes)
        text += formatted("lxc.cgroup2.devices.allow = c {}:{} rw\n", node.major, node.minor);
    for (const GivenVariable& variable : given.variables)
        if (variable.value) {
            refuse(*variable.value, "\r\n\"'", "lxc.environment");
            refuse_blank_end(*variable.value, "lxc.environment");
            text += formatted("lxc.environment = {}={}\n", variable.name, *variable.value);
        }
    notes.emplace_back("the rules have the numbers that the nodes have now, some of which differ "
                       "after a reboot");
    return text;
}

std::string incus_profile(const Given& given, Notes& notes)
{
    std::string text = "# A profile: incus profile create NAME <FILE\nconfig:";
    bool any = false;
    for (const GivenVariable& variable : given.variables)
        if (variable.value) {
            text +=
                formatted("\n  environment.{}: {}", variable.name, yaml_string(*variable.value));
            any = true;
        }
    text += any ? "\n" : " {}\n";
    text += given.files.empty() && given.nodes.empty() ? "devices: {}\n" : "devices:\n";
    int number = 0;
    for (const GivenNode& node : given.nodes) {
        text += formatted("  gpu-node-{}:\n    type: unix-char\n    source: {}\n    path: {}\n"
                          "    mode: \"{:04o}\"\n",
                          number++, yaml_string(node.source), yaml_string(node.target), node.mode);
        if (node.gid != 0)
            text += formatted("    gid: \"{}\"\n", node.gid);
    }
    number = 0;
    for (const GivenFile& file : given.files)
        text += formatted("  gpu-file-{}:\n    type: disk\n    source: {}\n    path: {}\n"
                          "    readonly: \"true\"\n",
                          number++, yaml_string(file.source), yaml_string(file.target));
    if (has_vendor(given, "nvidia"))
        notes.emplace_back("this profile goes without nvidia.runtime, which does the same work");
    return text;
}

} // namespace gpuctr_cli

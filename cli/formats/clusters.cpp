// SPDX-License-Identifier: MIT
// Apptainer and SingularityCE, Charliecloud and enroot, which are for clusters.
#include "formats/formats.hpp"
#include "formats/quoting.hpp"
#include "output/format.hpp"

#include <algorithm>

namespace gpuctr_cli {
namespace {

std::string apptainer_mount(const std::string& source, const std::string& target,
                            std::string_view more)
{
    for (const std::string& path : {source, target})
        if (path.find("\r\n") != std::string::npos)
            refuse(path, "\r", "Apptainer's --mount");
    return formatted("--mount=type=bind,{},{}{}", csv_field("source=" + source),
                     csv_field("destination=" + target), more);
}

/// With one '=', the value is all that follows, without quotes at its ends; with several, it is a
/// line of comma-separated values.
std::string apptainer_variable(const GivenVariable& variable)
{
    const std::string pair = formatted("{}={}", variable.name, *variable.value);
    if (std::count(pair.begin(), pair.end(), '=') > 1)
        return "--env=" + csv_field(pair);
    refuse(*variable.value, "\"", "Apptainer's --env");
    return "--env=" + pair;
}

std::string charliecloud_bind(const std::string& source, const std::string& target)
{
    for (const std::string& path : {source, target})
        refuse(path, ":", "ch-run's --bind");
    return formatted("--bind={}:{}", source, target);
}

std::string enroot_mount(const std::string& source, const std::string& target,
                         std::string_view options)
{
    // It becomes a line of fstab: each colon turns into a blank.
    for (const std::string& path : {source, target})
        refuse(path, ":\v\f\r", "enroot's --mount");
    return formatted("--mount={}:{}:none:{}", fstab_field(source), fstab_field(target), options);
}

} // namespace

std::string apptainer_options(const Given& given, Notes& notes)
{
    OptionLines options;
    if (given.some_gpus) {
        options.add({"--contain"});
        notes.emplace_back("--contain keeps the nodes of other GPUs out, and with them the home "
                           "directory and /tmp of the host: add them by --bind");
    }
    for (const GivenFile& file : given.files)
        options.add({apptainer_mount(file.source, file.target, ",ro")});
    for (const GivenNode& node : given.nodes)
        options.add({apptainer_mount(node.source, node.target, "")});
    for (const GivenVariable& variable : given.variables) {
        if (variable.value)
            options.add({apptainer_variable(variable)});
        else
            notes.push_back(formatted("{} must not be set: call it by `env -u {}`", variable.name,
                                      variable.name));
    }
    return options.text();
}

std::string charliecloud_options(const Given& given, Notes& notes)
{
    OptionLines options;
    for (const GivenFile& file : given.files)
        options.add({charliecloud_bind(file.source, file.target)});
    for (const GivenNode& node : given.nodes)
        if (node.source != node.target)
            options.add({charliecloud_bind(node.source, node.target)});
    bool expands = true;
    for (const GivenVariable& variable : given.variables) {
        if (!variable.value) {
            options.add({"--unset-env=" + variable.name});
            continue;
        }
        if (expands && variable.value->find('$') != std::string::npos) {
            options.add({"--env-no-expand"});
            expands = false;
        }
        options.add({formatted("--set-env={}={}", variable.name, *variable.value)});
    }
    notes.emplace_back("ch-run makes no names of files: the image needs a file at each of these "
                       "paths");
    notes.emplace_back(
        "ch-run has no read-only mounts: if root calls it, programs of the image can "
        "change the host's driver");
    notes.emplace_back(given.some_gpus
                           ? "ch-run mounts the host's /dev: programs can open all GPUs, not only "
                             "the chosen ones"
                           : "ch-run mounts the host's /dev, which has the device nodes");
    return options.text();
}

std::string enroot_options(const Given& given, Notes& notes)
{
    OptionLines options;
    for (const GivenFile& file : given.files)
        options.add({enroot_mount(file.source, file.target,
                                  formatted("x-create={},ro,nosuid,nodev{},private",
                                            file.is_directory ? "dir,rbind" : "file,bind",
                                            file.may_execute ? "" : ",noexec"))});
    for (const GivenNode& node : given.nodes)
        options.add({enroot_mount(node.source, node.target, "x-create=file,bind,private")});
    for (const GivenVariable& variable : given.variables)
        if (variable.value) {
            refuse(*variable.value, "\n", "enroot's --env");
            options.add({formatted("--env={}={}", variable.name, *variable.value)});
        }
    if (given.some_gpus)
        notes.emplace_back("enroot mounts the host's /dev: set ENROOT_RESTRICT_DEV=y for it, or "
                           "programs can open all GPUs");
    if (has_vendor(given, "nvidia"))
        notes.emplace_back("enroot's own hook for NVIDIA does the same work: set "
                           "NVIDIA_VISIBLE_DEVICES=void for it");
    return options.text();
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tools.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;

namespace {

/// Where a distribution puts the tools of a driver whose libraries are below a directory.
struct ToolPlace {
    std::string_view libraries;
    std::string_view tools;
};
constexpr std::array tool_places = {
    ToolPlace{"/usr/lib", "/usr/bin"},
    ToolPlace{"/usr/lib64", "/usr/bin"},
    ToolPlace{"/usr/lib", "/usr/sbin"}, // Debian's nvidia-cuda-mps-server
    ToolPlace{"/usr/lib64", "/usr/sbin"},
    ToolPlace{"/nix/store", "/run/current-system/sw/bin"},
    ToolPlace{"/usr/local/glibc", "/usr/local/bin"}, // Talos
    ToolPlace{"/opt/nvidia", "/opt/bin"},            // Flatcar
};

/// The directory of tools that belongs to one of several drivers: Debian's /usr/lib/nvidia/NAME for
/// the libraries in /usr/lib/ARCH/nvidia/NAME, Bottlerocket's PREFIX/libexec/nvidia/NAME/bin for
/// those in PREFIX/lib/nvidia/NAME. "" if there is none.
std::string directory_of_branch(std::string_view library_directory)
{
    constexpr std::string_view part = "/nvidia/";
    const auto at = library_directory.rfind(part);
    if (at == std::string_view::npos)
        return "";
    const std::string_view prefix = library_directory.substr(0, at);
    const std::string_view name = library_directory.substr(at + part.size());
    if (base::name_of(prefix) == "lib")
        return base::format("{}/libexec/nvidia/{}/bin", base::directory_of(prefix), name);
    return base::format("{}/nvidia/{}", base::directory_of(prefix), name);
}

/// The directories with a driver's tools: that of its branch, `bin` beside its libraries, and the
/// system's own if the driver is installed in the system's directories. A wrapper script elsewhere
/// in PATH is not the driver's.
std::vector<std::string> directories_of_tools(const std::string& library_directory)
{
    if (library_directory == "/")
        return {""}; // unpacked into one directory
    std::vector<std::string> directories;
    const auto add = [&](std::string directory) {
        if (!directory.empty() && std::ranges::find(directories, directory) == directories.end())
            directories.push_back(std::move(directory));
    };
    add(directory_of_branch(library_directory));
    const std::string_view above = base::directory_of(library_directory);
    add(base::format("{}/bin", above == "/" ? "" : above));
    for (const ToolPlace& place : tool_places)
        if (base::is_below(library_directory, place.libraries))
            add(std::string(place.tools));
    return directories;
}

/// Why a program would not run in a container; "" if it would.
std::string objection(const Result<elf::Facts>& facts, const elf::Machine& machine)
{
    if (!facts)
        return "is not an ELF program";
    if (!elf::is_for(*facts, machine))
        return "is for another machine";
    // Every ABI has its loader in /lib or /lib64, but programs of NixOS use another one.
    if (facts->has_interpreter() && !facts->interpreter.starts_with("/lib"))
        return base::format("is started by {}, which containers do not have", facts->interpreter);
    return "";
}

void find_tool(const host::DriverRoot& root, const CatalogueRule& rule,
               const std::vector<host::DriverRoot::Directory>& directories,
               std::vector<DriverFile>& files, model::Findings& findings)
{
    const std::string name(rule.name);
    for (const host::DriverRoot::Directory& directory : directories) {
        const auto opened = root.open_in(directory, name);
        if (!opened)
            continue;
        const std::string path = base::format("{}/{}", directory.real_path, name);
        const auto facts = root.noted(elf::read_facts(opened->fd.get()), path);
        if (auto reason = objection(facts, root.machine()); !reason.empty()) {
            findings.push_back(
                {model::FindingCode::file_unusable, name, std::move(reason), root.prefix() + path});
            continue;
        }
        DriverFile file = describe(root, *opened, FileKind::tool);
        file.classify(rule);
        file.name = name;
        file.entry_names.push_back(name);
        files.push_back(std::move(file));
        return;
    }
}

} // namespace

DriverFile describe(const host::DriverRoot& root, const host::DriverRoot::File& opened,
                    FileKind kind)
{
    DriverFile file;
    file.kind = kind;
    file.path = root.prefix() + opened.real_path;
    file.name = base::name_of(opened.real_path);
    file.id = model::FileId::of(opened.status);
    return file;
}

void find_tools(const host::DriverRoot& root, model::Catalogue catalogue,
                const std::string& library_directory, std::vector<DriverFile>& files,
                model::Findings& findings)
{
    std::vector<host::DriverRoot::Directory> directories;
    for (const std::string& path : directories_of_tools(library_directory))
        if (auto directory = root.open_directory(path.empty() ? "/" : path))
            directories.push_back(*std::move(directory));
    for (const CatalogueRule& rule : catalogue)
        if (rule.kind == FileKind::tool)
            find_tool(root, rule, directories, files, findings);
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tools.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/facts.hpp"

namespace gpucontainer::drivers::nvidia {

using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;

namespace {

/// The directories with a driver's tools: `bin` beside its libraries, and the system's own if the
/// driver is installed in the system's directories. A wrapper script elsewhere in PATH is not the
/// driver's.
std::vector<std::string> directories_of_tools(const std::string& library_directory)
{
    if (library_directory == "/")
        return {""}; // unpacked into one directory
    const std::string_view above = base::directory_of(library_directory);
    std::vector<std::string> directories = {base::format("{}/bin", above == "/" ? "" : above)};
    const auto add = [&](const std::string& directory) {
        if (directories.front() != directory)
            directories.push_back(directory);
    };
    if (base::is_below(library_directory, "/usr/lib")
        || base::is_below(library_directory, "/usr/lib64"))
        add("/usr/bin");
    if (base::is_below(library_directory, "/nix/store"))
        add("/run/current-system/sw/bin");
    return directories;
}

/// Why a program would not run in a container; "" if it would.
std::string objection(const Result<elf::Facts>& facts)
{
    if (!facts)
        return "is not an ELF program";
    if (!elf::is_native(*facts))
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
        if (auto reason = objection(facts); !reason.empty()) {
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

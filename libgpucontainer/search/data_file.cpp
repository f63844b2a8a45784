// SPDX-License-Identifier: MIT
#include "search/data_file.hpp"

#include "base/format.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>

namespace gpucontainer::search {

using model::DriverFile;

namespace {

Result<DriverFile> open_data_at(const host::DriverRoot& root, const std::string& path,
                                DriverFile file)
{
    GPUCTR_TRY(const struct stat status, root.look(path));
    if (S_ISDIR(status.st_mode)) {
        file.id = model::FileId::of(status);
        GPUCTR_TRY(const auto directory, root.open_directory(path));
        file.path = root.prefix() + directory.real_path;
        file.directory = true;
        return file;
    }
    GPUCTR_TRY(const auto opened, root.open_file(path));
    file.id = model::FileId::of(opened.status);
    file.path = root.prefix() + opened.real_path;
    return file;
}

/// The paths of the rule's data below other directories than /usr, the likely one first.
std::vector<std::string> other_paths(const model::CatalogueRule& rule, std::string_view path,
                                     const DataPlaces& places)
{
    std::vector<std::string> all;
    if (!rule.module.empty())
        for (const std::string& directory : places.libraries)
            all.push_back(base::format("{}/{}/{}", directory == "/" ? "" : directory, rule.module,
                                       base::name_of(path)));
    for (const std::string& prefix : places.prefixes) {
        if (prefix.empty()) { // unpacked into one directory
            all.push_back(base::format("/{}", base::name_of(path)));
            all.push_back(base::format("/firmware/{}", base::name_of(path)));
            continue;
        }
        for (const std::string_view top : {"/usr", "/lib", ""})
            if (path.starts_with(top))
                all.push_back(base::format("{}{}", prefix, path.substr(top.size())));
    }
    return all;
}

Result<DriverFile> open_data(const host::DriverRoot& root, const model::CatalogueRule& rule,
                             const std::string& path, const Installation& installation,
                             const DataPlaces& places)
{
    DriverFile file;
    file.kind = model::FileKind::data;
    file.classify(rule);
    for (model::Registration& one : file.registrations)
        if (one.manner == model::Manner::fixed_path)
            one.name = path;
    file.name = base::name_of(path);
    auto found = open_data_at(root, path, file);
    std::vector<std::string> others = other_paths(rule, path, places);
    if (std::string own = installation.own_path(path); !own.empty())
        others.push_back(std::move(own));
    for (const std::string& other : others) {
        if (found || found.error().os_error() != ENOENT)
            break;
        if (auto there = open_data_at(root, other, file))
            found = std::move(there);
    }
    return found;
}

std::string objection_to(const Result<DriverFile>& file, const host::DriverRoot& root,
                         const Installation& installation)
{
    if (!file)
        return file.error().os_error() == ENOENT ? "not installed" : file.error().cause();
    const std::string real = file->path.substr(root.prefix().size());
    return installation.admits(real) ? "" : installation.objection_to(real);
}

} // namespace

void add_data(const host::DriverRoot& root, model::Catalogue rules,
              const Installation& installation, std::vector<DriverFile>& files,
              model::Findings& findings, const DataPlaces& places)
{
    for (const model::CatalogueRule& rule : rules) {
        if (rule.kind != model::FileKind::data || rule.capability == model::Capability::none)
            continue;
        const std::string path = model::with_version(rule.name, places.version);
        auto file = open_data(root, rule, path, installation, places);
        std::string reason = objection_to(file, root, installation);
        if (reason.empty())
            files.push_back(*std::move(file));
        else
            findings.push_back({model::FindingCode::file_unusable, std::string(base::name_of(path)),
                                std::move(reason), root.prefix() + path});
    }
}

} // namespace gpucontainer::search

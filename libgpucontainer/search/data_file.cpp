// SPDX-License-Identifier: MIT
#include "search/data_file.hpp"

#include "base/result.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>

namespace gpucontainer::search {

using model::DriverFile;

namespace {

Result<DriverFile> open_data(const host::DriverRoot& root, const model::CatalogueRule& rule)
{
    const std::string path(rule.name);
    DriverFile file;
    file.kind = model::FileKind::data;
    file.classify(rule);
    file.name = base::name_of(path);
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
              model::Findings& findings)
{
    for (const model::CatalogueRule& rule : rules) {
        if (rule.kind != model::FileKind::data || rule.capability == model::Capability::none)
            continue;
        const std::string path(rule.name);
        auto file = open_data(root, rule);
        std::string reason = objection_to(file, root, installation);
        if (reason.empty())
            files.push_back(*std::move(file));
        else
            findings.push_back({model::FindingCode::file_unusable, std::string(base::name_of(path)),
                                std::move(reason), root.prefix() + path});
    }
}

} // namespace gpucontainer::search

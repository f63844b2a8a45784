// SPDX-License-Identifier: MIT
#include "vendor/data_file.hpp"

#include "base/result.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>

namespace gpucontainer::vendor {
namespace {

Result<DriverFile> open_data(const host::DriverRoot& root, const CatalogueRule& rule)
{
    const std::string path(rule.name);
    DriverFile file;
    file.kind = FileKind::data;
    file.capability = rule.capability;
    file.also = rule.also;
    file.reason = rule.reason;
    file.name = base::name_of(path);
    file.target = path;
    GPUCTR_TRY(const struct stat status, root.look(path));
    if (S_ISDIR(status.st_mode)) {
        file.id = FileId::of(status);
        GPUCTR_TRY(const auto directory, root.open_directory(path));
        file.path = root.prefix() + directory.real_path;
        file.directory = true;
        return file;
    }
    GPUCTR_TRY(const auto opened, root.open_file(path));
    file.id = FileId::of(opened.status);
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

void add_data(const host::DriverRoot& root, Catalogue rules, const Installation& installation,
              std::vector<DriverFile>& files, std::vector<Skipped>& skipped)
{
    for (const CatalogueRule& rule : rules) {
        if (rule.kind != FileKind::data || rule.capability == Capability::none)
            continue;
        const std::string path(rule.name);
        auto file = open_data(root, rule);
        std::string reason = objection_to(file, root, installation);
        if (reason.empty())
            files.push_back(*std::move(file));
        else
            skipped.push_back(
                {std::string(base::name_of(path)), root.prefix() + path, std::move(reason)});
    }
}

} // namespace gpucontainer::vendor

// SPDX-License-Identifier: MIT
#include "plan/opencl.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using rootfs::EntryType;

// Part of the OpenCL ICD loader's interface.
constexpr const char* icd_directory = "/etc/OpenCL/vendors";

std::string path_of(const DriverFile& file)
{
    return base::format("{}/{}", icd_directory, file.icd);
}

/// What loaders open, by the loader cache.
std::string content_of(const DriverFile& file) { return file.soname + "\n"; }

bool says_the_same(const Draft& draft, const DriverFile& file)
{
    constexpr std::size_t longest = 4096;
    const auto content = draft.view.read(path_of(file), longest);
    return content && base::trim(*content) == file.soname;
}

/// Why there can be no such file; empty when there can.
std::string objection(Draft& draft, const std::string& path)
{
    const bool is_missing = draft.is_missing(path);
    if (is_missing ? !draft.can_have(path) : draft.view.resolve(path).type != EntryType::regular)
        return "something else of the image's is in its place";
    return "";
}

void add_icd(Draft& draft, const DriverFile& file)
{
    const std::string path = path_of(file);
    if (std::string reason = objection(draft, path); !reason.empty()) {
        draft.skip(model::FindingCode::file_left_out, file.icd, std::move(reason), path);
        return;
    }
    const bool is_missing = draft.is_missing(path);
    draft.identify(base::format("{} {}", path, file.soname));
    if (!is_missing && says_the_same(draft, file))
        return;
    constexpr const char* reason = "OpenCL finds the driver by it";
    const Owner owner = draft.owner_of(file);
    if (is_missing)
        draft.add_name({GeneratedFile{content_of(file)}, path, reason, owner});
    else
        draft.add({GeneratedCover{content_of(file)}, path, reason, owner});
}

} // namespace

void add_opencl(Draft& draft)
{
    std::set<std::string_view> known;
    for (const DriverFile* file : draft.files)
        if (!file->icd.empty() && known.insert(file->icd).second)
            add_icd(draft, *file);
        else if (!file->icd.empty())
            draft.skip(model::FindingCode::file_left_out, file->icd,
                       "another library has that name", path_of(*file));
}

std::vector<std::string> opencl_paths(Draft& draft)
{
    std::vector<std::string> paths;
    for (const DriverFile* file : draft.files)
        if (!file->icd.empty() && objection(draft, path_of(*file)).empty())
            paths.push_back(path_of(*file));
    return paths;
}

} // namespace gpucontainer::plan

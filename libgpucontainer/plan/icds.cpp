// SPDX-License-Identifier: MIT
#include "plan/icds.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <array>
#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::Manner;
using rootfs::EntryType;

/// A loader of ICDs: the directory in which it looks, and the content of files there.
struct IcdLoader {
    Manner manner;
    std::string_view directory;
    std::string (*content)(const DriverFile& library);
    std::string_view reason;
};

constexpr std::array loaders = {
    IcdLoader{Manner::opencl_icd, "/etc/OpenCL/vendors", // by the loader's own interface
              [](const DriverFile& library) { return library.soname + "\n"; },
              "OpenCL finds the driver by it"},
};

/// A library's file for one loader.
struct Icd {
    const DriverFile* library;
    const IcdLoader* loader;
    const std::string* name;

    std::string path() const { return base::format("{}/{}", loader->directory, *name); }
    std::string content() const { return loader->content(*library); }
};

std::vector<Icd> icds_of(const Draft& draft)
{
    std::vector<Icd> icds;
    for (const DriverFile* file : draft.files)
        for (const IcdLoader& loader : loaders)
            if (const std::string* const name = file->registered(loader.manner))
                icds.push_back({file, &loader, name});
    return icds;
}

bool says_the_same(const Draft& draft, const Icd& icd)
{
    constexpr std::size_t longest = 4096;
    const auto content = draft.view.read(icd.path(), longest);
    return content && base::trim(*content) == base::trim(icd.content());
}

/// Why the file cannot be made; "" if it can.
std::string objection(Draft& draft, const std::string& path)
{
    const bool is_missing = draft.is_missing(path);
    if (is_missing ? !draft.can_have(path) : draft.view.resolve(path).type != EntryType::regular)
        return "the image has something else in its place";
    return "";
}

void add_icd(Draft& draft, const Icd& icd)
{
    const std::string path = icd.path();
    if (std::string reason = objection(draft, path); !reason.empty()) {
        draft.skip(model::FindingCode::file_left_out, *icd.name, std::move(reason), path);
        return;
    }
    const bool is_missing = draft.is_missing(path);
    draft.identify(base::format("{} {}", path, icd.library->soname));
    if (!is_missing && says_the_same(draft, icd))
        return;
    const std::string reason(icd.loader->reason);
    const Owner owner = draft.owner_of(*icd.library);
    if (is_missing)
        draft.add_name({GeneratedFile{icd.content()}, path, reason, owner});
    else
        draft.add({GeneratedCover{icd.content()}, path, reason, owner});
}

} // namespace

void add_icds(Draft& draft)
{
    std::set<std::string> known;
    for (const Icd& icd : icds_of(draft))
        if (known.insert(icd.path()).second)
            add_icd(draft, icd);
        else
            draft.skip(model::FindingCode::file_left_out, *icd.name,
                       "another library has that name", icd.path());
}

std::vector<std::string> icd_paths(Draft& draft)
{
    std::vector<std::string> paths;
    for (const Icd& icd : icds_of(draft))
        if (std::string path = icd.path(); objection(draft, path).empty())
            paths.push_back(std::move(path));
    return paths;
}

} // namespace gpucontainer::plan

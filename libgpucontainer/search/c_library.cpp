// SPDX-License-Identifier: MIT
#include "search/c_library.hpp"

#include "base/try.hpp"
#include "elf/ld_cache.hpp"
#include "elf/symbol_versions.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::search {

using model::VersionNeed;

namespace {

constexpr std::string_view c_library_kind = "GLIBC_";

bool is_newer(std::string_view number, std::string_view than)
{
    return elf::compare_names(number, than) > 0;
}

/// Keeps `need` unless a newer one of its kind is there.
void keep(VersionNeed need, std::vector<VersionNeed>& needs)
{
    const NumberedVersion wanted = split_version(need.version);
    const auto same = std::ranges::find_if(needs, [&](const VersionNeed& other) {
        return other.library == need.library && split_version(other.version).kind == wanted.kind;
    });
    if (same == needs.end())
        needs.push_back(std::move(need));
    else if (is_newer(wanted.number, split_version(same->version).number))
        *same = std::move(need);
}

} // namespace

bool is_of_c_library(std::string_view soname)
{
    constexpr std::array<std::string_view, 13> family = {
        c_library,          "libm.so.6",   "libmvec.so.1", "libpthread.so.0",
        "libdl.so.2",       "librt.so.1",  "libutil.so.1", "libresolv.so.2",
        "libanl.so.1",      "libnsl.so.1", "libcidn.so.1", "libBrokenLocale.so.1",
        "libthread_db.so.1"};
    return std::ranges::find(family, soname) != family.end() || soname.starts_with("ld-linux")
           || soname.starts_with("ld64.so") || soname.starts_with("ld-musl")
           || soname.starts_with("linux-vdso");
}

Result<std::vector<VersionNeed>> read_version_needs(int fd)
{
    GPUCTR_TRY(const auto versions, elf::read_needed_versions(fd));
    std::vector<VersionNeed> needs;
    for (const elf::NeededVersion& version : versions) {
        const bool of_c_library = is_of_c_library(version.library);
        if (of_c_library && version.version == private_version)
            continue;
        keep({of_c_library ? c_library : version.library, version.version}, needs);
    }
    return needs;
}

NumberedVersion split_version(std::string_view version)
{
    const std::size_t last = version.find_last_not_of("0123456789.");
    const std::size_t end = last == std::string_view::npos ? 0 : last + 1;
    return {version.substr(0, end), version.substr(end)};
}

bool is_met(const VersionNeed& need, const std::vector<std::string>& versions)
{
    const NumberedVersion wanted = split_version(need.version);
    if (need.library != c_library || wanted.kind != c_library_kind)
        return std::ranges::find(versions, need.version) != versions.end();
    const std::string newest = newest_of_kind(need, versions);
    return !newest.empty() && !is_newer(wanted.number, split_version(newest).number);
}

std::string newest_of_kind(const VersionNeed& need, const std::vector<std::string>& versions)
{
    const std::string_view kind = split_version(need.version).kind;
    std::string_view newest;
    for (const std::string_view version : versions)
        if (split_version(version).kind == kind
            && (newest.empty()
                || is_newer(split_version(version).number, split_version(newest).number)))
            newest = version;
    return std::string(newest);
}

} // namespace gpucontainer::search

// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include "base/c_handle.hpp"
#include "base/text.hpp"
#include "drivers/amd/catalogue_amd.hpp"
#include "drivers/habana/catalogue_habana.hpp"
#include "drivers/intel/catalogue_intel.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <unordered_set>
#include <vector>

namespace gpucontainer::simhost {
namespace {

using namespace std::string_view_literals;

constexpr std::array gpu_words = {"nvidia"sv, "amdgpu"sv, "habanalabs"sv, "amdhip"sv,
                                  "hsa-runtime"sv};
constexpr std::array gpu_prefixes = {
    "cuda"sv, "libcuda"sv, "libnvcuvid"sv, "libnvoptix"sv,
    "rocm"sv, "librocm"sv, "libhsakmt"sv,  "libze_intel"sv,
};

constexpr std::array run_time_families = {
    "ld-linux"sv,        "ld64"sv,         "libc"sv,          "libm"sv,
    "libmvec"sv,         "libdl"sv,        "librt"sv,         "libpthread"sv,
    "libutil"sv,         "libresolv"sv,    "libnsl"sv,        "libanl"sv,
    "libBrokenLocale"sv, "libthread_db"sv, "libstdc++"sv,     "libgcc_s"sv,
    "libnss_files"sv,    "libnss_dns"sv,   "libnss_compat"sv, "libcrypt"sv,
    "libatomic"sv,       "libasan"sv,      "libubsan"sv,
};

/// "libc" of "libc.so.6", "libc-2.31" of "libc-2.31.so"; empty when no library.
std::string_view stem_of(std::string_view name)
{
    const auto end = name.find(".so");
    return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

/// What the built-in catalogues say.
struct Known {
    /// Libraries up to ".so", tools, ICDs; AMD's device of all GPUs is in no catalogue.
    std::unordered_set<std::string_view> names = {"kfd"};
    /// Of data; WSL's directory of libraries is in no catalogue.
    std::vector<std::string_view> paths = {"/usr/lib/wsl"};
};

Known read_catalogues()
{
    Known known;
    for (const model::Catalogue catalogue :
         {drivers::amd_catalogue(), drivers::habana_catalogue(), drivers::intel_catalogue(),
          drivers::nvidia_catalogue()}) {
        for (const model::CatalogueRule& rule : catalogue) {
            if (rule.kind == model::FileKind::data)
                known.paths.push_back(rule.name);
            else
                known.names.insert(rule.kind == model::FileKind::tool ? rule.name
                                                                      : stem_of(rule.name));
            known.names.insert(rule.icd);
        }
    }
    known.names.erase("");
    return known;
}

const Known& known()
{
    static const Known once = read_catalogues();
    return once;
}

} // namespace

std::string Machine::place(const std::string& path)
{
    const std::string directory(base::directory_of(path));
    if (directory.empty() || directory == "/")
        return path;
    auto known = directories_.find(directory);
    if (known == directories_.end()) {
        const base::CHandle<char, ::free> real(
            is_gpu_path(directory) ? nullptr : ::realpath(directory.c_str(), nullptr));
        known = directories_.emplace(directory, real ? real.get() : place(directory)).first;
    }
    return (known->second == "/" ? "" : known->second) + "/" + std::string(base::name_of(path));
}

bool Machine::has(const std::string& path)
{
    return ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_gpu_name(std::string_view name)
{
    return std::any_of(gpu_words.begin(), gpu_words.end(),
                       [&](auto word) { return name.find(word) != std::string_view::npos; })
           || std::any_of(gpu_prefixes.begin(), gpu_prefixes.end(),
                          [&](auto prefix) { return name.starts_with(prefix); })
           || known().names.contains(name) || known().names.contains(stem_of(name));
}

bool is_gpu_path(std::string_view path)
{
    const auto parts = base::split(path, '/');
    return std::any_of(parts.begin(), parts.end(), is_gpu_name)
           || std::any_of(known().paths.begin(), known().paths.end(), [&](auto directory) {
                  return path == directory || base::is_below(path, directory);
              });
}

std::span<const std::string_view> gpu_paths() { return known().paths; }

bool is_system_library(std::string_view path)
{
    const auto parts = base::split(path, '/');
    const auto library =
        std::find_if(parts.begin(), parts.end(), [](auto part) { return part.starts_with("lib"); });
    const std::string_view stem = stem_of(parts.back());
    // "", "usr", "lib", "x86_64-linux-gnu", name: below lib at most one directory more
    if (stem.empty() || library == parts.end() || parts.end() - library > 3
        || library - parts.begin() > 2 || (library - parts.begin() == 2 && parts[1] != "usr"))
        return false;
    return std::any_of(run_time_families.begin(), run_time_families.end(),
                       [&](std::string_view family) {
                           return stem == family || stem.starts_with(std::string(family) + "-");
                       });
}

} // namespace gpucontainer::simhost

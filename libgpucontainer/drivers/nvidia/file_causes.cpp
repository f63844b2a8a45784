// SPDX-License-Identifier: MIT
#include "drivers/nvidia/file_causes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/directories.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "drivers/nvidia/user_space.hpp"
#include "search/loader_path.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::drivers::nvidia {

using model::Blocks;
using model::DriverFile;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::string_view ptx_compiler = "libnvidia-ptxjitcompiler.so.1";

/// Where the loaded module tells its version.
std::string place_of_version(const std::string& system_root)
{
    struct stat status = {};
    const std::string path = "/sys/module/nvidia/version";
    return ::stat((system_root + path).c_str(), &status) == 0 ? path
                                                              : "/proc/driver/nvidia/version";
}

model::Cause other_version(const std::string& module, const std::string& files,
                           std::string evidence)
{
    return {{FindingCode::driver_version, "NVIDIA driver",
             base::format("the kernel module is version {}, and the libraries on this host are "
                          "version {}: the driver was updated, perhaps by an unattended upgrade, "
                          "while the other module was loaded",
                          module, files),
             std::move(evidence),
             "reboot, or stop all programs that use GPUs and load the nvidia modules again; hold "
             "the driver's packages back from unattended upgrades"},
            Stage::host};
}

/// Paths in the driver root at which the main library has a name.
std::vector<std::string> names_of_main_library(const host::DriverRoot& root)
{
    std::vector<std::string> names;
    for (const elf::CacheEntry& entry : root.cached(main_library))
        names.emplace_back(entry.value);
    auto directories = root.configured_directories();
    std::ranges::move(search::expand_directories(root, odd_directories()),
                      std::back_inserter(directories));
    for (const std::string& directory : directories)
        names.push_back(join(directory, std::string(main_library)));
    return names;
}

/// What is at a name of the main library that leads to nothing usable; none if there is nothing, or
/// a file that somebody else has to judge.
std::optional<model::Cause> broken(const host::DriverRoot& root, const std::string& name)
{
    const auto target = root.link_target(name);
    const std::string path = !target ? name
                             : target->starts_with('/')
                                 ? *target
                                 : join(std::string(base::directory_of(name)), *target);
    const auto status = root.look(name);
    const bool is_gone = !status && status.error().os_error() == ENOENT;
    if ((is_gone && !target) || (!is_gone && (!status || status->st_size != 0)))
        return std::nullopt;
    return model::Cause{
        {FindingCode::driver_unusable, root.prefix() + path,
         is_gone
             ? base::format("is gone, and {} still leads to it: no program loads the driver", name)
             : "is empty: no program loads the driver",
         root.prefix() + path,
         is_gone ? "install the driver's user space again, or run `ldconfig` after removing it"
                 : "install the driver's user space again; a container that was ended in the "
                   "middle may have left the empty file"},
        Stage::host};
}

} // namespace

Result<void> add_file_failure(const Sources& sources, model::Causes& causes)
{
    GPUCTR_TRY(const auto loaded, module_version(sources.system_root));
    if (!loaded || !sources.driver_version.empty())
        return {};
    const auto found = find_user_space(sources.driver_root, nvidia_catalogue(), std::nullopt,
                                       model::VersionSource::files);
    if (found) {
        if (found->version != *loaded)
            causes.push_back(
                other_version(*loaded, found->version, place_of_version(sources.system_root)));
        return {};
    }
    for (const std::string& name : names_of_main_library(sources.driver_root))
        if (auto cause = broken(sources.driver_root, name)) {
            causes.push_back(*std::move(cause));
            return {};
        }
    return {};
}

void add_file_causes(const DriverStack& driver, model::Causes& causes)
{
    for (const model::Finding& finding : driver.findings)
        if (finding.code == FindingCode::library_unloadable)
            causes.push_back({finding, Stage::load});
    const auto has = [&](std::string_view soname) {
        return std::ranges::find(driver.files, soname, &DriverFile::soname) != driver.files.end();
    };
    // Other platforms have it by other names.
    if (!is_driver_version(driver.version) || driver.optional_files || !has(main_library)
        || has(ptx_compiler))
        return;
    const std::string path =
        base::format("{}/{}{}", driver.library_directory,
                     ptx_compiler.substr(0, ptx_compiler.size() - 1), driver.version);
    causes.push_back(
        {{FindingCode::feature_missing, path,
          "is not there: the driver cannot translate PTX, so programs without code for exactly "
          "this GPU fail with CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
          path, "install the whole of the driver's user space for computing",
          model::Capability::compute},
         Stage::code,
         Blocks::some});
}

} // namespace gpucontainer::drivers::nvidia

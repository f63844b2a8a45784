// SPDX-License-Identifier: MIT
#include "drivers/nvidia/nvidia.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "config/trusted_file.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/extras.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "drivers/nvidia/mig_map.hpp"
#include "drivers/nvidia/stack.hpp"
#include "drivers/nvidia/tegra.hpp"
#include "drivers/nvidia/user_space.hpp"
#include "drivers/nvidia/wsl.hpp"
#include "drivers/wsl.hpp"
#include "search/data_file.hpp"
#include "search/manifest.hpp"
#include "search/site_files.hpp"

#include <algorithm>
#include <iterator>
#include <sys/statvfs.h>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::DriverStack;
using model::VersionSource;

namespace {

void append(model::Findings& to, model::Findings from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// A file in a container keeps noexec from the mount that it comes from.
void warn_of_noexec(DriverStack& stack)
{
    const auto main = std::ranges::find_if(stack.files, [](const model::DriverFile& file) {
        return file.name.starts_with("libcuda.so");
    });
    struct statvfs status = {};
    if (main != stack.files.end() && ::statvfs(main->path.c_str(), &status) == 0
        && (status.f_flag & ST_NOEXEC) != 0)
        stack.findings.push_back({model::FindingCode::library_unloadable, main->path,
                                  "is on a mount with noexec: programs cannot load it", main->path,
                                  "mount its file system with exec", model::Capability::compute});
}

/// The driver's own data fits one version only, unlike what a site names.
void keep_own_data(DriverStack& stack)
{
    for (const model::CatalogueRule& rule : nvidia_catalogue())
        for (model::DriverFile& file : stack.files)
            if (const std::string* const path = file.registered(model::Manner::fixed_path);
                rule.kind == model::FileKind::data && path != nullptr
                && *path == model::with_version(rule.name, stack.version))
                file.precedence = model::Precedence::always;
}

/// EGL lists all GPUs that the kernel module drives, and fails at those whose nodes are missing. An
/// application profile tells it which there are.
void register_profile(DriverStack& stack)
{
    for (model::DriverFile& file : stack.files)
        if (file.soname == "libEGL_nvidia.so.0")
            file.registrations.push_back({model::Manner::gpu_mask, profile_path, profile});
}

/// A container needs it for any GPU on a bus.
void require_proc(DriverStack& stack)
{
    stack.needs = {"a mounted /proc: the CUDA driver reads it"};
}

/// Adds the files of a version, or of the first one found if there is none.
Result<void> add_files(const Sources& sources, const std::optional<std::string>& version,
                       DriverStack& stack)
{
    const search::MergedCatalogue catalogue(stack.vendor, nvidia_catalogue(), sources.site);
    auto found =
        find_user_space(sources.driver_root, catalogue.of_driver(), version, stack.version_source);
    GPUCTR_CHECK(sources.driver_root.check());
    if (!found && stack.version_source != VersionSource::files)
        return std::move(found).error().with_code(Errc::driver);
    if (!found && !version)
        return std::move(found).error().with_code(Errc::no_device);
    GPUCTR_TRY(UserSpace user_space, std::move(found));
    stack.version = std::move(user_space.version);
    stack.library_directory = std::move(user_space.library_directory);
    stack.files = std::move(user_space.files);
    append(stack.findings, std::move(user_space.findings));
    append(stack.findings, sources.site.findings);
    search::add_site_files(sources.driver_root, catalogue.of_site(), is_driver_version, stack);
    search::add_manifests(sources.driver_root, user_space.prefixes, stack.files, stack.findings);
    search::add_data(sources.driver_root, catalogue.of_driver(), search::Installation(),
                     stack.files, stack.findings,
                     {stack.version, user_space.prefixes, user_space.directories});
    keep_own_data(stack);
    return sources.driver_root.check();
}

/// An error that says what has each GPU, and how that changes.
Error nothing_driven(std::string message, const Gpus& gpus, const std::string& hint)
{
    for (const model::Finding& finding : gpus.findings)
        message +=
            base::format("{} {}", &finding == gpus.findings.data() ? ":" : ",", finding.message());
    return Error(Errc::no_device, std::move(message))
        .with_hint(gpus.advice.empty() ? hint : gpus.advice);
}

/// The module is loaded, but no GPU is listed.
Error drives_nothing(const Gpus& listed, host::Enumerator& pci)
{
    Gpus all = listed;
    if (auto others = undriven_gpus(pci)) {
        append(all.findings, std::move(others->findings));
        all.advice = std::move(others->advice);
    }
    return nothing_driven("the NVIDIA kernel module is loaded but drives no GPU", all,
                          "look for NVRM messages in the kernel's log");
}

/// Gives MIG instances the names that only NVIDIA's programs tell. Without a map that fits, they
/// have those of the kernel alone.
Result<void> name_instances(const Sources& sources, const std::vector<Instance>& instances,
                            DriverStack& stack)
{
    constexpr const char* argument = "mig_map";
    const std::string& path = sources.mig_map;
    if (path.empty() || instances.empty())
        return {};
    GPUCTR_TRY(const auto text, about(argument, config::read_trusted(path)),
               "map of MIG instances");
    if (!text)
        return Error(Errc::usage, base::format("map of MIG instances {}: no such file", path))
            .with_object(path)
            .with_argument(argument);
    auto map = parse_mig_map(*text);
    const bool is_read = map.has_value();
    const auto used =
        is_read ? use_mig_map(*map, instances, stack.gpus) : Result<void>(std::move(map).error());
    if (!used) {
        const bool is_map = is_read || text->starts_with("GPU ");
        stack.findings.push_back(
            {model::FindingCode::map_unfit, path,
             base::format("the map of MIG instances {}: {}",
                          is_read ? "does not fit this host" : "cannot be read",
                          used.error().message()),
             path,
             // Nobody is told to write over a file of another kind.
             is_map ? base::format("make it again: `nvidia-smi -L >{}`", path)
                    : "name a file that `nvidia-smi -L` wrote"});
    }
    return {};
}

/// The driver for GPUs on a bus.
Result<std::optional<DriverStack>>
driver_of(const Gpus& gpus, const std::optional<std::string>& loaded, const Sources& sources)
{
    DriverStack stack = new_stack(sources);
    stack.visible_devices = variables(model::VisibleDevices::Inside::uuid);
    require_proc(stack);
    stack.gpus = gpus.gpus;
    stack.findings = gpus.findings;
    if (loaded) {
        GPUCTR_TRY(auto others, sources.whole_bus ? gpus_beside_module(sources.pci)
                                                  : gpus_of_others(sources.pci));
        append(stack.findings, std::move(others));
    }
    GPUCTR_CHECK(name_instances(sources, gpus.rights.instances, stack));

    std::optional<std::string> version = loaded;
    stack.version_source = loaded ? VersionSource::module : VersionSource::files;
    if (!sources.driver_version.empty()) {
        version = sources.driver_version;
        stack.version_source = VersionSource::option;
    }
    constexpr const char* not_loaded = "the NVIDIA kernel module is not loaded";
    if (auto added = add_files(sources, version, stack); !added) {
        if (!version && !gpus.advice.empty() && added.error().code() == Errc::no_device)
            return nothing_driven(not_loaded, gpus, "");
        return version ? std::move(added).error() : std::move(added).error().context(not_loaded);
    }
    register_profile(stack);
    GPUCTR_TRY(search::Nodes nodes, device_nodes(sources.system_root, sources.dev_root, stack.gpus,
                                                 sources.pci, gpus.rights, stack.findings));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    append(stack.findings, warnings(stack.gpus, stack.nodes));
    stack.shared_paths = shared_paths(sources.system_root, stack.nodes, stack.findings);
    warn_of_noexec(stack);
    GPUCTR_TRY(stack.masks, masks(sources.system_root, stack.gpus, gpus.rights));
    return std::optional(std::move(stack));
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    GPUCTR_TRY(auto version, tegra_version(system_root));
    if (!version) {
        GPUCTR_TRY(version, module_version(system_root));
    }
    return version ? version : wsl::loaded_version(system_root);
}

Result<DriverStack> files_alone(const Sources& sources)
{
    DriverStack stack = new_stack(sources);
    stack.version_source = VersionSource::files;
    require_proc(stack);
    std::optional<std::string> version;
    if (!sources.driver_version.empty())
        version = sources.driver_version;
    GPUCTR_CHECK(add_files(sources, version, stack));
    return stack;
}

Result<std::optional<DriverStack>> detect(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, module_version(sources.system_root));
    GPUCTR_TRY(Gpus gpus,
               loaded ? driven_gpus(sources.system_root, sources.pci) : undriven_gpus(sources.pci));
    // The module may be loaded only for a Tegra's display, which it does not list.
    if (gpus.gpus.empty() || !loaded)
        if (auto tegra = detect_tegra(sources); !tegra || *tegra)
            return tegra;
    if (gpus.gpus.empty() && !loaded)
        return detect_wsl(sources);
    if (gpus.gpus.empty())
        return drives_nothing(gpus, sources.pci);

    auto driver = driver_of(gpus, loaded, sources);
    // The files decide: those of a Tegra have no version in their names.
    if (!driver && loaded && driver.error().code() == Errc::driver)
        if (auto tegra = detect_tegra_with(sources, gpus, *loaded); !tegra || *tegra)
            return tegra;
    return driver;
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "drivers/nvidia/stack.hpp"
#include "drivers/nvidia/tegra_files.hpp"
#include "drivers/nvidia/tegra_nodes.hpp"
#include "host/kernel_files.hpp"
#include "search/site_files.hpp"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {

using model::DriverStack;

namespace {

constexpr std::string_view compatible_mark = "nvidia,tegra";

/// Strings of the device tree end in NUL.
std::string first_string(std::string_view text)
{
    constexpr std::size_t longest = 256;
    std::string first(text.substr(0, std::min(text.find('\0'), longest)));
    std::erase_if(first, base::is_control);
    return first;
}

/// Name of the machine's processor in the device tree: "nvidia,tegra234"; "" if it is not a Tegra.
Result<std::string> compatible(const std::string& system_root)
{
    GPUCTR_TRY(const auto text, host::read_value(system_root + "/proc/device-tree/compatible"));
    std::string found;
    if (!text)
        return found;
    for (const std::string_view word : base::split(*text, '\0'))
        if (word.starts_with(compatible_mark))
            found = first_string(word);
    return found;
}

Result<std::string> model(const std::string& system_root)
{
    for (const char* place : {"/proc/device-tree/model", "/sys/devices/soc0/machine"}) {
        GPUCTR_TRY(const auto text, host::read_value(system_root + place));
        if (std::string name = first_string(text.value_or("")); !name.empty())
            return name;
    }
    GPUCTR_TRY(std::string processor, compatible(system_root));
    return processor.empty() ? "NVIDIA Tegra" : std::move(processor);
}

/// "35.4.1" of "# R35 (release), REVISION: 4.1, GCID: ...".
std::optional<std::string> release_in(std::string_view text)
{
    constexpr std::string_view release = "# R";
    constexpr std::string_view revision = "REVISION: ";
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto at = line.find(revision);
    if (!line.starts_with(release) || at == std::string_view::npos)
        return std::nullopt;
    const std::string_view major = line.substr(release.size());
    const std::string_view minor = line.substr(at + revision.size());
    std::string version = base::format("{}.{}", major.substr(0, major.find(' ')),
                                       base::trim(minor.substr(0, minor.find(','))));
    constexpr std::size_t longest = 32;
    const bool is_version = version.size() <= longest && version.front() != '.'
                            && version.back() != '.'
                            && version.find_first_not_of("0123456789.") == std::string::npos;
    return is_version ? std::optional(std::move(version)) : std::nullopt;
}

Result<std::optional<std::string>> kernel_version(const std::string& system_root)
{
    GPUCTR_TRY(auto version, host::loaded_module_version(system_root, "nvgpu"));
    if (version)
        return version;
    // It may be built into the kernel.
    return host::read_value(system_root + "/proc/sys/kernel/osrelease");
}

Result<std::string> version_of(const Sources& sources)
{
    constexpr std::size_t largest = 64U << 10U;
    if (const auto file = sources.driver_root.open_file(tegra_release))
        if (const auto text =
                sources.driver_root.noted(base::read_all(file->fd.get(), largest), tegra_release))
            if (auto release = release_in(*text))
                return *std::move(release);
    GPUCTR_TRY(auto version, kernel_version(sources.system_root));
    return version.value_or("0");
}

Result<bool> has_listed_gpus(const std::string& system_root)
{
    constexpr std::size_t most_gpus = 256;
    const std::string directory = system_root + "/proc/driver/nvidia/gpus";
    const auto names = base::list_directory(AT_FDCWD, directory, most_gpus);
    if (!names && base::leaves_open(names.error().os_error()))
        return Error::from_errno(names.error().os_error(), directory, Errc::driver)
            .with_object(directory);
    return names && !names->empty();
}

template <typename T>
void append(std::vector<T>& to, std::vector<T> from)
{
    std::ranges::move(from, std::back_inserter(to));
}

Result<void> add_files(const Sources& sources, std::vector<TegraRow> rows, DriverStack& stack)
{
    std::erase_if(rows, [](const TegraRow& row) { return row.kind == TegraRow::Kind::device; });
    const search::MergedCatalogue catalogue(stack.vendor, nvidia_catalogue(), sources.site);
    GPUCTR_TRY(search::ClosedSet found,
               find_tegra_files(sources.driver_root, catalogue.of_driver(), rows));
    stack.library_directory = std::move(found.library_directory);
    stack.files = std::move(found.files);
    append(stack.findings, std::move(found.findings));
    append(stack.findings, sources.site.findings);
    search::add_site_files(sources.driver_root, catalogue.of_site(), is_driver_version, stack);
    return sources.driver_root.check();
}

std::vector<std::string> listed_nodes(const std::vector<TegraRow>& rows)
{
    std::vector<std::string> paths;
    for (const TegraRow& row : rows)
        if (row.kind == TegraRow::Kind::device)
            paths.push_back(row.path);
    return paths;
}

void add_nodes(search::Nodes nodes, DriverStack& stack)
{
    std::erase_if(nodes.nodes, [&](const model::DeviceNode& node) {
        return std::ranges::find(stack.nodes, node.path, &model::DeviceNode::path)
               != stack.nodes.end();
    });
    append(stack.nodes, std::move(nodes.nodes));
    append(stack.missing_nodes, std::move(nodes.missing));
}

/// What its name in /dev/nvgpu says of the address: "0000:01:00.0" of "igpu-0000:01:00.0".
std::string address_in(const std::optional<std::string>& name)
{
    constexpr std::string_view start = "igpu-";
    const std::string_view address =
        name && name->starts_with(start) ? std::string_view(*name).substr(start.size()) : "";
    return host::is_pci_address(address) ? std::string(address) : "";
}

/// Index of the GPU in the Tegra, which is added unless the module lists it.
Result<unsigned> add_own_gpu(const Sources& sources, DriverStack& stack)
{
    GPUCTR_TRY(const auto name, name_of_tegra_gpu(sources.system_root, sources.dev_root));
    model::Gpu gpu;
    gpu.pci_address = address_in(name);
    const auto listed = std::ranges::find(stack.gpus, gpu.pci_address, &model::Gpu::pci_address);
    if (listed != stack.gpus.end())
        return listed->index;
    if (!name && !stack.gpus.empty())
        return 0U; // those that are listed are all
    gpu.index = static_cast<unsigned>(stack.gpus.size());
    GPUCTR_TRY(gpu.model, model(sources.system_root));
    GPUCTR_TRY(const std::string processor, compatible(sources.system_root));
    gpu.architecture = architecture_of_soc(processor);
    stack.gpus.push_back(std::move(gpu));
    return stack.gpus.back().index;
}

/// The parts that do not depend on the GPUs.
DriverStack stack_of_tegra(const Sources& sources)
{
    DriverStack stack = new_stack(sources);
    // Libraries that it is linked to come from the image if it has them.
    stack.optional_files = true;
    // A GPU of a Tegra may have no UUID.
    stack.visible_devices = variables(model::VisibleDevices::Inside::position);
    for (const char* directory :
         {"/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra",
          "/usr/lib/aarch64-linux-gnu/tegra-egl"})
        stack.image_directories.emplace_back(directory);
    stack.needs = {"a mounted /proc and /sys: the driver's libraries read there which Tegra it is"};
    return stack;
}

bool has_main_library(const DriverStack& stack)
{
    return std::ranges::find(stack.files, main_library, &model::DriverFile::soname)
           != stack.files.end();
}

} // namespace

Result<bool> is_tegra(const std::string& system_root)
{
    GPUCTR_TRY(const auto family, host::read_value(system_root + "/sys/devices/soc0/family"));
    if (family == "Tegra")
        return true;
    GPUCTR_TRY(const std::string processor, compatible(system_root));
    return !processor.empty();
}

Result<std::optional<std::string>> tegra_version(const std::string& system_root)
{
    GPUCTR_TRY(const bool is_one, is_tegra(system_root));
    if (!is_one)
        return std::optional<std::string>();
    GPUCTR_TRY(const bool has_others, has_listed_gpus(system_root));
    if (has_others)
        return std::optional<std::string>();
    GPUCTR_TRY(const auto text, host::read_value(system_root + tegra_release));
    auto release = release_in(text.value_or(""));
    return release ? std::move(release) : kernel_version(system_root);
}

Result<std::optional<DriverStack>> detect_tegra(const Sources& sources)
{
    GPUCTR_TRY(const bool is_one, is_tegra(sources.system_root));
    if (!is_one)
        return std::optional<DriverStack>();

    DriverStack stack = stack_of_tegra(sources);
    GPUCTR_TRY(stack.version, version_of(sources));
    if (!sources.driver_version.empty()) {
        stack.version = sources.driver_version;
        stack.version_source = model::VersionSource::option;
    }
    const auto rows = read_tegra_lists(sources.driver_root, stack.findings);
    GPUCTR_CHECK(add_files(sources, rows, stack));
    if (!has_main_library(stack))
        stack.findings.push_back({model::FindingCode::library_missing, std::string(main_library),
                                  "is not among the driver's files: CUDA programs do not find "
                                  "their driver",
                                  "", "", model::Capability::compute});
    GPUCTR_TRY(const unsigned gpu, add_own_gpu(sources, stack));
    GPUCTR_TRY(search::Nodes nodes, tegra_nodes(sources.system_root, sources.dev_root,
                                                listed_nodes(rows), gpu, stack.findings));
    add_nodes(std::move(nodes), stack);
    return std::optional(std::move(stack));
}

Result<std::optional<DriverStack>> detect_tegra_with(const Sources& sources, const Gpus& listed,
                                                     const std::string& version)
{
    GPUCTR_TRY(const bool is_one, is_tegra(sources.system_root));
    if (!is_one || !sources.driver_version.empty())
        return std::optional<DriverStack>();

    DriverStack stack = stack_of_tegra(sources);
    stack.version = version;
    const auto rows = read_tegra_lists(sources.driver_root, stack.findings);
    GPUCTR_CHECK(add_files(sources, rows, stack));
    if (!has_main_library(stack))
        return std::optional<DriverStack>();
    stack.gpus = listed.gpus;
    // Its own GPU follows those of cards, and no chip for a Jetson's slot has instances.
    std::erase_if(stack.gpus, [](const model::Gpu& gpu) { return gpu.is_instance(); });
    append(stack.findings, listed.findings);
    GPUCTR_TRY(search::Nodes of_module, device_nodes(sources.system_root, sources.dev_root,
                                                     stack.gpus, sources.pci, {}, stack.findings));
    add_nodes(std::move(of_module), stack);
    GPUCTR_TRY(const unsigned gpu, add_own_gpu(sources, stack));
    auto own =
        tegra_nodes(sources.system_root, sources.dev_root, listed_nodes(rows), gpu, stack.findings);
    if (!own && own.error().code() != Errc::no_device)
        return std::move(own).error();
    if (own)
        add_nodes(*std::move(own), stack);
    GPUCTR_TRY(stack.masks, masks(sources.system_root, stack.gpus, {}));
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "drivers/wsl.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"
#include "search/data_file.hpp"
#include "search/nodes.hpp"
#include "syscall/mount_number.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::drivers::wsl {
namespace {

constexpr const char* package_directory = "/usr/lib/wsl/drivers";
constexpr const char* witness_of_libraries = "libdxcore.so";
constexpr std::size_t most_files = 1000;
constexpr const char* device = "/dev/dxg";

model::CatalogueRule data_rule(const std::string& path)
{
    return {model::FileKind::data,
            model::Capability::compute,
            model::Capability::utility,
            path,
            false,
            false,
            "of Windows' driver, whose libraries find each other by their paths"};
}

void add(const host::DriverRoot& root, const std::string& path,
         std::vector<model::DriverFile>& files, model::Findings& findings)
{
    const model::CatalogueRule rule = data_rule(path);
    const std::size_t first = files.size();
    search::add_data(root, {&rule, 1}, search::Installation(), files, findings);
    for (std::size_t i = first; i < files.size(); ++i)
        files[i].precedence = model::Precedence::always;
}

/// Whether files are mounted in a directory. A bind mount of the directory would not show them.
bool has_mounted_files(const host::DriverRoot& root, const std::string& directory,
                       const std::string& witness)
{
    const auto opened = root.open_directory(directory);
    const auto file = root.open_file(base::format("{}/{}", directory, witness));
    std::uint64_t of_directory = 0;
    std::uint64_t of_file = 0;
    return opened && file && syscall::mount_number(opened->fd.get(), of_directory)
           && syscall::mount_number(file->fd.get(), of_file) && of_directory != of_file;
}

void add_directory(const host::DriverRoot& root, const std::string& directory,
                   const std::string& witness, std::vector<model::DriverFile>& files,
                   model::Findings& findings)
{
    if (!has_mounted_files(root, directory, witness)) {
        add(root, directory, files, findings);
        return;
    }
    std::size_t count = 0;
    for (const std::string& name : root.list(directory)) {
        const std::string path = base::format("{}/{}", directory, name);
        const auto status = root.look(path);
        if (!status || !S_ISREG(status->st_mode))
            continue;
        if (++count > most_files) {
            findings.push_back({model::FindingCode::file_unusable, name,
                                base::format("exceeds the limit of {} files", most_files),
                                root.prefix() + path});
            return; // the others are not named either
        }
        add(root, path, files, findings);
    }
}

Result<std::optional<std::string>> read_number(const std::string& system_root)
{
    return host::read_value(system_root + std::string(kernel_place.path));
}

Result<void> add_device(model::DriverStack& stack, const Sources& sources)
{
    GPUCTR_TRY(const auto number, read_number(sources.system_root));
    search::WantedNode wanted;
    wanted.path = device;
    wanted.gpu = 0;
    if (const auto colon = number ? number->find(':') : std::string::npos;
        colon != std::string::npos) {
        const auto major = base::to_number(number->substr(0, colon));
        const auto minor = base::to_number(number->substr(colon + 1));
        if (major && minor && std::in_range<unsigned>(*major) && std::in_range<unsigned>(*minor)) {
            wanted.major = static_cast<unsigned>(*major);
            wanted.minor = static_cast<unsigned>(*minor);
        }
    }
    search::Nodes found;
    GPUCTR_CHECK(
        search::add_node(sources.system_root, sources.dev_root, wanted, found, stack.findings));
    stack.nodes = std::move(found.nodes);
    stack.missing_nodes = std::move(found.missing);
    return {};
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    GPUCTR_TRY(const auto number, read_number(system_root));
    if (!number)
        return std::optional<std::string>();
    return host::kernel_release(system_root);
}

std::vector<Package> packages(const host::DriverRoot& root, const std::string& stem,
                              const std::string& witness)
{
    std::vector<Package> found;
    // Windows has hundreds of packages, and looking into each costs a round trip.
    for (const std::string& name : root.list(package_directory)) {
        if (!name.starts_with(stem))
            continue;
        std::string directory = base::format("{}/{}", package_directory, name);
        const auto status = root.look(base::format("{}/{}", directory, witness));
        if (status && S_ISREG(status->st_mode))
            found.push_back({std::move(directory), witness});
    }
    return found;
}

Result<void> add_to(model::DriverStack& stack, const Sources& sources, std::string version,
                    const std::vector<Package>& packages)
{
    stack.version = std::move(version);
    model::Gpu gpu;
    gpu.model = base::format("{} GPUs of Windows", stack.vendor_name);
    stack.gpus = {std::move(gpu)};
    const host::DriverRoot& root = sources.driver_root;
    add_directory(root, library_directory, witness_of_libraries, stack.files, stack.findings);
    const std::string bridge = base::format("{}/{}", library_directory, witness_of_libraries);
    if (!root.look(bridge))
        stack.findings.push_back({model::FindingCode::library_missing, witness_of_libraries,
                                  "is not there: without it, no program reaches Windows' driver",
                                  root.prefix() + bridge,
                                  "`wsl --update` in Windows, then `wsl --shutdown`"});
    for (const Package& package : packages)
        add_directory(root, package.directory, package.witness, stack.files, stack.findings);
    GPUCTR_CHECK(root.check());
    return add_device(stack, sources);
}

bool is_of_windows(const model::DriverStack& driver)
{
    const auto has_device = [](const std::vector<model::DeviceNode>& nodes) {
        return std::ranges::find(nodes, device, &model::DeviceNode::path) != nodes.end();
    };
    return has_device(driver.nodes) || has_device(driver.missing_nodes);
}

void add_causes(const model::DriverStack& driver, model::Causes& causes)
{
    for (const model::Finding& finding : driver.findings)
        if (finding.code == model::FindingCode::library_missing
            && finding.object == witness_of_libraries)
            causes.push_back({finding, model::Stage::load});
}

} // namespace gpucontainer::drivers::wsl

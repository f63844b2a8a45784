// SPDX-License-Identifier: MIT
#include "front/session.hpp"
#include "front/translation.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/descriptor.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <dirent.h>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Driver;
using gpucontainer::File;
using gpucontainer::Mask;
using gpucontainer::Node;
using gpucontainer::SharedPath;
using gpucontainer::Shown;

/// What is to be listed. With no option, all of it.
struct Wanted {
    explicit Wanted(const FrontArguments& from)
        : devices(!from.devices.empty()), libraries(from.libraries), binaries(from.binaries),
          sockets(from.sockets), firmware(from.firmware_files), compat32(from.compat32)
    {
        if (devices || libraries || binaries || sockets || firmware || compat32 || from.mig_config
            || from.mig_monitor)
            return;
        all_devices = devices = libraries = binaries = sockets = firmware = compat32 = true;
    }

    bool all_devices = false;
    bool devices;
    bool libraries;
    bool binaries;
    bool sockets;
    bool firmware;
    bool compat32;
};

class Paths {
public:
    Paths(std::FILE* out, std::string root) : out_(out), root_(std::move(root))
    {
        while (root_.ends_with('/'))
            root_.pop_back();
    }

    /// Paths are those below the driver's root.
    void add(std::string_view path) const
    {
        if (!root_.empty() && path.starts_with(root_ + "/"))
            path.remove_prefix(root_.size());
        print(out_, "{}\n", printable(path));
    }

private:
    std::FILE* out_;
    std::string root_;
};

/// Indexes of the GPUs that are asked for, with those that they are instances of.
std::set<unsigned> chosen_gpus(const FrontSession& session, const gpucontainer::Host& host,
                               const Wanted& wanted)
{
    gpucontainer::Request request = session.options.request();
    request.devices = wanted.all_devices ? "all" : device_words(session.arguments);
    if (request.devices == "auto") // nothing is opened
        request.devices = "all";
    request.driver_capabilities = "utility";
    request.vendor_libs = GPUCTR_VENDOR_LIBS_NONE;
    const gpucontainer::Plan plan(host, request, -1);
    std::set<unsigned> chosen;
    for (const auto driver : plan.drivers())
        for (const auto gpu : driver.gpus()) {
            chosen.insert(gpu.index());
            if (const auto parent = gpu.parent())
                chosen.insert(*parent);
        }
    return chosen;
}

bool is_of(const Node& node, const std::set<unsigned>& gpus)
{
    return node.extra().empty() && node.gpu() && gpus.contains(*node.gpu());
}

/// Of those that are chosen, whole GPUs or instances.
std::set<unsigned> among(const std::set<unsigned>& chosen, const Driver& driver, bool instances)
{
    std::set<unsigned> found;
    for (const auto gpu : driver.gpus())
        if (gpu.parent().has_value() == instances && chosen.contains(gpu.index()))
            found.insert(gpu.index());
    return found;
}

void list_nodes(const Driver& driver, const std::set<unsigned>& chosen, const Paths& paths)
{
    const std::set<unsigned> gpus = among(chosen, driver, false);
    for (const Node node : driver.nodes())
        if (node.extra().empty() && !node.gpu())
            paths.add(node.path());
    for (const Node node : driver.nodes())
        if (is_of(node, gpus))
            paths.add(node.path());
}

/// Files of the kernel by which a container's programs use instances, or have a right.
void list_kernel_files(const Driver& driver, const auto& is_wanted, const Paths& paths)
{
    for (const Mask mask : driver.masks())
        for (const Shown shown : mask.shown())
            if (is_wanted(shown))
                paths.add(formatted("{}/{}", mask.path(), shown.name()));
}

void list_instances(const Driver& driver, const std::set<unsigned>& chosen, const Paths& paths)
{
    const std::set<unsigned> instances = among(chosen, driver, true);
    list_kernel_files(
        driver, [&](const Shown& shown) { return shown.gpu() && instances.contains(*shown.gpu()); },
        paths);
    for (const Node node : driver.nodes())
        if (is_of(node, instances))
            paths.add(node.path());
}

/// Nodes and files of an extra.
void list_extra(const Driver& driver, const std::string& extra, const Paths& paths)
{
    list_kernel_files(
        driver, [&](const Shown& shown) { return shown.extra() == extra; }, paths);
    for (const Node node : driver.nodes())
        if (node.extra() == extra)
            paths.add(node.path());
}

void list_channels(const Driver& driver, const FrontArguments& arguments, const Paths& paths)
{
    constexpr std::string_view channel = "imex-channel:";
    const std::vector<std::string> channels = channels_of(arguments);
    for (const Node node : driver.nodes()) {
        if (!node.extra().starts_with(channel))
            continue;
        const std::string number(node.extra().substr(channel.size()));
        if (std::any_of(channels.begin(), channels.end(),
                        [&](const auto& one) { return one == number || one == "all"; }))
            paths.add(node.path());
    }
}

void list_files(const Driver& driver, std::string_view kind, bool compat32, const Paths& paths)
{
    for (const File file : driver.files())
        if (file.kind() == kind && file.is_compat32() == compat32)
            paths.add(file.path());
}

void list_sockets(const Driver& driver, const FrontArguments& arguments, const Paths& paths)
{
    for (const SharedPath shared : driver.shared_paths()) {
        const bool is_wanted = shared.extra() == "persistenced"     ? arguments.persistenced
                               : shared.extra() == "fabric-manager" ? arguments.fabric_manager
                                                                    : shared.extra() == "mps";
        if (is_wanted)
            paths.add(shared.path());
    }
}

/// Files of the directory that belongs to the driver's version.
void list_firmware(const Driver& driver, const Paths& paths)
{
    for (const File file : driver.files()) {
        if (file.capability() != "firmware")
            continue;
        const std::string directory(file.path());
        const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
        std::set<std::string> names;
        while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
            const std::string_view name = entry->d_name;
            if (name.starts_with("gsp") && name.ends_with(".bin"))
                names.emplace(name);
        }
        for (const std::string& name : names)
            paths.add(formatted("{}/{}", directory, name));
    }
}

void list_devices(const Driver& driver, const std::set<unsigned>& chosen, const Paths& paths)
{
    list_nodes(driver, chosen, paths);
    list_instances(driver, chosen, paths);
}

void list_rights(const Driver& driver, const FrontArguments& arguments, const Paths& paths)
{
    list_channels(driver, arguments, paths);
    if (arguments.mig_config)
        list_extra(driver, "mig-config", paths);
    if (arguments.mig_monitor)
        list_extra(driver, "mig-monitor", paths);
}

void list_parts(const Driver& driver, const Wanted& wanted, const FrontArguments& arguments,
                const Paths& paths)
{
    if (wanted.binaries)
        list_files(driver, "tool", false, paths);
    if (wanted.libraries)
        list_files(driver, "library", false, paths);
    if (wanted.compat32)
        list_files(driver, "library", true, paths);
    if (wanted.sockets)
        list_sockets(driver, arguments, paths);
    if (wanted.firmware && arguments.firmware)
        list_firmware(driver, paths);
}

} // namespace

void front_list(FrontSession& session)
{
    session.settle_host();
    session.load_kernel_modules();
    shrink_privileges(GPUCTR_PHASE_LOOK);
    const FrontArguments& arguments = session.arguments;
    session.phase = FrontPhase::initialization;
    const gpucontainer::Host host = session.options.host.open();
    session.phase = FrontPhase::device;
    const Wanted wanted(arguments);
    const std::set<unsigned> chosen =
        wanted.devices ? chosen_gpus(session, host, wanted) : std::set<unsigned>();
    const Paths paths(session.streams.out, session.options.host.driver_root);
    for (const Driver driver : host.drivers()) {
        if (wanted.devices)
            list_devices(driver, chosen, paths);
        list_rights(driver, arguments, paths);
        list_parts(driver, wanted, arguments, paths);
    }
}

} // namespace gpuctr_cli

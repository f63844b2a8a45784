// SPDX-License-Identifier: MIT
#include "detect/detection.hpp"

#include "base/format.hpp"
#include "base/similar.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "detect/sources.hpp"
#include "drivers/registry.hpp"

#include <algorithm>
#include <tuple>

namespace gpucontainer::detect {

using drivers::Sources;
using drivers::Vendor;

namespace {

using model::DeviceNode;
using model::DriverStack;

/// Which of two options named a catalogue.
const char* argument_of(const Detection& detection, const std::string& catalogue)
{
    return std::ranges::find(detection.catalogues, catalogue) != detection.catalogues.end()
               ? "catalogues"
               : "catalogue_dir";
}

Error unknown_vendor(const std::string& name, const Detection& detection, const drivers::Site& site)
{
    if (const drivers::LeftOut* const left_out = site.find_left_out(name))
        return Error(Errc::usage, left_out->reason)
            .with_object(left_out->path)
            .with_argument(argument_of(detection, left_out->path))
            .with_hint("a maker's title, kind, variables and nodes are its own");
    std::vector<std::string_view> known;
    for (const Vendor& vendor : site.vendors)
        known.push_back(vendor.name);
    return Error(Errc::usage, base::format("options of the host: unknown vendor '{}'", name))
        .with_object(name)
        .with_argument("vendors")
        .with_hint(base::format("{}vendors are {}", base::suggestion(name, known),
                                drivers::names_of(site.vendors)));
}

Error no_gpu(const Vendor& vendor)
{
    return Error(Errc::no_device, base::format("no {} GPU on this host", vendor.title))
        .with_object(std::string(vendor.name))
        .with_hint("no kernel driver of it is loaded and no such device is on the PCI bus");
}

bool is_plausible_version(std::string_view text)
{
    return text.find_first_not_of("0123456789.") == std::string_view::npos && !text.empty();
}

Result<void> check_version(const Detection& detection)
{
    const std::string& version = detection.driver_version;
    if (!is_plausible_version(version))
        return Error(Errc::usage, base::format("driver version '{}': not a version", version))
            .with_object(version)
            .with_hint("a version looks like 580.159.04");
    const bool is_of_use = std::ranges::any_of(drivers::vendors(), [&](const auto& vendor) {
        return vendor.is_versioned && detection.asks_for(vendor.name);
    });
    if (is_of_use || detection.all_vendors)
        return {};
    return Error(Errc::usage, base::format("driver version {}: no vendor that is asked for has "
                                           "files of its kernel module's version",
                                           version))
        .with_object(version)
        .with_hint("leave the version out");
}

/// A driver without a GPU. `reason` says why there is none.
Result<std::optional<DriverStack>> files_alone(const Vendor& vendor, const Sources& sources,
                                               const Error& reason)
{
    auto stack = vendor.files_alone(sources);
    if (!stack && stack.error().code() != Errc::no_device)
        return std::move(stack).error();
    if (!stack)
        return Error(Errc::no_device,
                     base::format("{}, and {}", reason.message(), stack.error().message()))
            .with_object(stack.error().object())
            .with_hint(stack.error().hint());
    stack->cdi_kind = vendor.cdi_kind;
    stack->machine = sources.driver_root.machine().name;
    stack->findings.push_back(
        {model::FindingCode::no_gpu, "",
         base::format("{}: only the driver's files are shown", reason.message())});
    return std::optional(*std::move(stack));
}

Result<std::optional<DriverStack>> detect(const Vendor& vendor, const Sources& sources,
                                          bool or_files_alone)
{
    auto driver = vendor.detect(sources);
    const bool has_gpus = driver && *driver;
    if (has_gpus) {
        (*driver)->cdi_kind = vendor.cdi_kind;
        (*driver)->machine = sources.driver_root.machine().name;
    }
    if (has_gpus || !or_files_alone || (!driver && driver.error().code() != Errc::no_device))
        return driver;
    if (driver)
        return files_alone(vendor, sources, no_gpu(vendor));
    // What keeps the GPUs from being used is what to change first.
    auto files = files_alone(vendor, sources, driver.error());
    if (!files && files.error().code() == Errc::no_device && !driver.error().hint().empty())
        return std::move(files).error().with_hint(driver.error().hint());
    return files;
}

void record_failure(Detected& found, std::string_view title, const Error& error)
{
    if (found.findings.empty())
        found.failure = error.code();
    found.findings.push_back({model::FindingCode::driver_unusable, base::format("{} driver", title),
                              error.message(), error.object(), error.hint()});
}

constexpr const char* stale_record =
    "the record is of another host, or out of date: make a new one";

Error not_found(const std::string& object)
{
    return Error(Errc::driver, object + ": in the host record, but not found on this host")
        .with_object(object)
        .with_hint(stale_record);
}

/// Compares nodes, except whether they are accessible, which depends on the caller. That a device
/// cgroup forbids nodes is compared, because Slurm's variables then count less.
auto number_of(const DeviceNode& node)
{
    return std::tuple(node.path, node.host_path, node.major, node.minor, node.mode, node.gid,
                      node.gpu, node.capability, node.required, node.links, node.extra,
                      node.makeable, node.problem);
}

bool is_among(const DeviceNode& recorded, const std::vector<DeviceNode>& found)
{
    const auto node = std::ranges::find(found, number_of(recorded), number_of);
    return node != found.end() && (node->accessible || !recorded.accessible)
           && (node->cgroup_forbids || !recorded.cgroup_forbids);
}

/// The driver of a vendor that is asked for; without a GPU, if its files are enough.
bool has_driver(std::string_view vendor, const Detection& detection,
                const std::vector<DriverStack>& drivers)
{
    return std::ranges::any_of(drivers, [&](const DriverStack& driver) {
        return driver.vendor == vendor && (!driver.gpus.empty() || detection.files_alone);
    });
}

/// What its libraries are for, which records of old versions do not tell.
std::string_view machine_of(const DriverStack& driver)
{
    return driver.machine.empty() ? elf::own_machine().name : std::string_view(driver.machine);
}

/// A record may grant less than the host, but must not restrict less.
Result<void> prove(const DriverStack& recorded, const DriverStack& found)
{
    if (recorded.vendor_name != found.vendor_name || recorded.cdi_kind != found.cdi_kind
        || recorded.version != found.version || recorded.version_source != found.version_source
        || recorded.root != found.root || recorded.visible_devices != found.visible_devices
        || recorded.needs != found.needs || recorded.image_directories != found.image_directories
        || recorded.tree_link != found.tree_link || recorded.optional_files != found.optional_files
        || machine_of(recorded) != machine_of(found))
        return not_found(
            base::format("{} driver {} in {}", recorded.vendor, recorded.version, recorded.root));
    if (recorded.gpus != found.gpus || recorded.library_order != found.library_order)
        return not_found(base::format("{} GPUs", recorded.vendor));
    for (const model::DriverFile& file : recorded.files)
        if (std::ranges::find(found.files, file) == found.files.end())
            return not_found(file.path);
    for (const DeviceNode& node : recorded.nodes)
        if (!is_among(node, found.nodes))
            return not_found(node.path);
    // Of a node that is made, its owner too: nobody else on this host says who that is.
    for (const DeviceNode& node : recorded.missing_nodes)
        if (node.makeable
            && std::ranges::find(found.missing_nodes, node) == found.missing_nodes.end())
            return not_found(node.path);
    for (const DeviceNode& node : found.missing_nodes)
        if (std::ranges::find(recorded.missing_nodes, node) == recorded.missing_nodes.end())
            return Error(Errc::driver, node.host_path
                                           + ": missing on this host, which the host record "
                                             "does not say")
                .with_object(node.host_path)
                .with_hint(stale_record);
    for (const model::SharedPath& shared : recorded.shared_paths)
        if (std::ranges::find(found.shared_paths, shared) == found.shared_paths.end())
            return not_found(shared.path);
    if (recorded.masks != found.masks)
        return not_found(base::format("{} masks", recorded.vendor));
    return {};
}

} // namespace

Result<void> check(const Detection& detection)
{
    return detection.driver_version.empty() ? Result<void>()
                                            : about("driver_version", check_version(detection));
}

Result<void> require_vendors(const Detection& detection, const std::vector<DriverStack>& drivers)
{
    for (const std::string& name : detection.vendors) {
        if (has_driver(name, detection, drivers))
            continue;
        GPUCTR_TRY(const auto site, read_site(detection));
        if (const Vendor* const vendor = site.find(name))
            return no_gpu(*vendor);
        return unknown_vendor(name, detection, site);
    }
    return {};
}

Result<drivers::Site> read_site(const Detection& detection)
{
    auto site = drivers::Site::read(detection.catalogue_directory, detection.catalogues);
    if (site)
        return site;
    const char* const argument = argument_of(detection, site.error().object());
    return std::move(site).error().with_argument(argument);
}

Result<Detected> detect(const Detection& detection)
{
    GPUCTR_TRY(auto site, read_site(detection));
    return detect(detection, std::move(site));
}

namespace {

/// Adds the driver of one vendor, or a finding with the reason why there is none.
Result<void> look_for(const Vendor& vendor, const Detection& detection, const Sources& sources,
                      Detected& found)
{
    const bool asked_for = detection.asks_for(vendor.name);
    if (!detection.all_vendors && !asked_for)
        return {};
    auto driver = detect(vendor, sources, asked_for && detection.files_alone);
    if (!driver && asked_for)
        return std::move(driver).error().context(base::format("{} driver", vendor.title));
    if (!driver)
        record_failure(found, vendor.title, driver.error());
    else if (*driver)
        found.drivers.push_back(**std::move(driver));
    if (asked_for && !has_driver(vendor.name, detection, found.drivers))
        return no_gpu(vendor);
    return {};
}

} // namespace

Result<Detected> detect(const Detection& detection, drivers::Site site)
{
    GPUCTR_CHECK(check(detection));
    for (const std::string& name : detection.vendors)
        if (site.find(name) == nullptr)
            return unknown_vendor(name, detection, site);
    GPUCTR_TRY(const auto opened, HostSources::open(detection, std::move(site.catalogue)));
    const Sources& sources = opened.get();
    Detected found;
    for (const Vendor& vendor : site.vendors)
        GPUCTR_CHECK(look_for(vendor, detection, sources, found));
    if (detection.all_vendors)
        for (const drivers::LeftOut& one : site.left_out)
            record_failure(found, one.title, unknown_vendor(one.vendor, detection, site));
    return found;
}

Result<void> prove(const std::vector<DriverStack>& drivers,
                   const std::optional<Detection>& unproven)
{
    if (!unproven)
        return {};
    GPUCTR_TRY(const auto found, detect(*unproven), "look at this host");
    for (const DriverStack& driver : drivers) {
        const auto same = std::ranges::find(found.drivers, driver.vendor, &DriverStack::vendor);
        if (same == found.drivers.end())
            return not_found(driver.vendor + " driver");
        GPUCTR_CHECK(prove(driver, *same));
    }
    return {};
}

} // namespace gpucontainer::detect

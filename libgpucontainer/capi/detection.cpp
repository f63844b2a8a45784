// SPDX-License-Identifier: MIT
#include "capi/detection.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "vendor/vendor.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <tuple>

namespace gpucontainer::capi {
namespace {

using vendor::DeviceNode;
using vendor::DriverStack;

std::uint32_t known_vendors()
{
    std::uint32_t known = GPUCTR_VENDOR_ANY;
    for (const vendor::Vendor& vendor : vendor::vendors())
        known |= vendor.bit;
    return known;
}

Error missing(const vendor::Vendor& vendor)
{
    return Error(Errc::no_device, base::format("no {} GPU on this host", vendor.title))
        .with_object(std::string(vendor.name))
        .with_hint("no kernel driver of it is loaded and no such device is on the PCI bus");
}

bool is_plausible_version(std::string_view text)
{
    return text.find_first_not_of("0123456789.") == std::string_view::npos && !text.empty();
}

/// What stands in front of /dev, without links; "" for the usual one.
Result<std::string> dev_root_prefix(const std::string& path)
{
    if (path.empty())
        return std::string();
    const base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, base::format("device root {}", path), Errc::driver)
            .with_object(path)
            .with_hint("name the directory that holds the driver's /dev");
    GPUCTR_TRY(std::string prefix, base::path_of(fd.get()), "device root {}", path);
    return prefix == "/" ? std::string() : std::move(prefix);
}

bool wants_any(std::uint32_t vendors) { return vendors == 0 || (vendors & GPUCTR_VENDOR_ANY) != 0; }

Result<void> check_version(const Detection& detection)
{
    const std::string& version = detection.driver_version;
    if (!is_plausible_version(version))
        return Error(Errc::usage, base::format("driver version '{}': not a version", version))
            .with_object(version)
            .with_hint("a version looks like 580.159.04");
    const bool is_of_use = std::ranges::any_of(vendor::vendors(), [&](const auto& vendor) {
        return vendor.is_versioned && (detection.vendors & vendor.bit) != 0;
    });
    if (is_of_use || wants_any(detection.vendors))
        return {};
    return Error(Errc::usage, base::format("driver version {}: no vendor that is asked for has "
                                           "files of its kernel module's version",
                                           version))
        .with_object(version)
        .with_hint("leave the version out");
}

/// What stands in for a driver without a GPU; `reason` says why there is none.
Result<std::optional<DriverStack>> files_alone(const vendor::Vendor& vendor,
                                               const vendor::Sources& sources, const Error& reason)
{
    auto stack = vendor.files_alone(sources);
    if (!stack && stack.error().code() != Errc::no_device)
        return std::move(stack).error();
    if (!stack)
        return Error(Errc::no_device,
                     base::format("{}, and {}", reason.message(), stack.error().message()))
            .with_object(stack.error().object())
            .with_hint(stack.error().hint());
    stack->warnings.push_back(
        {vendor::Capability::none,
         base::format("{}: only the driver's files are shown", reason.message())});
    return std::optional(*std::move(stack));
}

Result<std::optional<DriverStack>> detect(const vendor::Vendor& vendor,
                                          const vendor::Sources& sources, bool or_files_alone)
{
    auto driver = vendor.detect(sources);
    const bool has_gpus = driver && *driver;
    if (has_gpus || !or_files_alone || (!driver && driver.error().code() != Errc::no_device))
        return driver;
    return files_alone(vendor, sources, driver ? missing(vendor) : std::move(driver).error());
}

void record_failure(Detected& found, const vendor::Vendor& vendor, const Error& error)
{
    if (found.skipped.empty())
        found.failure = error.code();
    found.skipped.push_back(
        {base::format("{} driver", vendor.title), error.object(), error.message()});
}

constexpr const char* stale_record =
    "the record is of another host, or out of date: make a new one";

Error not_found(const std::string& object)
{
    return Error(Errc::driver, object + ": in the host record, but not found on this host")
        .with_object(object)
        .with_hint(stale_record);
}

/// What of a node counts, but for whether it is accessible: that depends on who asks. A
/// device cgroup that forbids nodes makes Slurm's variables count less.
auto number_of(const DeviceNode& node)
{
    return std::tuple(node.path, node.host_path, node.major, node.minor, node.mode, node.gid,
                      node.gpu, node.capability, node.required, node.links);
}

bool is_among(const DeviceNode& recorded, const std::vector<DeviceNode>& found)
{
    const auto node = std::ranges::find(found, number_of(recorded), number_of);
    return node != found.end() && (node->accessible || !recorded.accessible)
           && (node->cgroup_forbids || !recorded.cgroup_forbids);
}

/// A record may grant less than the host has, and may not restrict less.
Result<void> prove(const DriverStack& recorded, const DriverStack& found)
{
    if (recorded.vendor_name != found.vendor_name || recorded.version != found.version
        || recorded.version_source != found.version_source || recorded.root != found.root
        || recorded.visible_devices != found.visible_devices || recorded.needs != found.needs
        || recorded.image_directories != found.image_directories
        || recorded.tree_link != found.tree_link || recorded.optional_files != found.optional_files)
        return not_found(
            base::format("{} driver {} in {}", recorded.vendor, recorded.version, recorded.root));
    if (recorded.gpus != found.gpus || recorded.library_order != found.library_order)
        return not_found(base::format("{} GPUs", recorded.vendor));
    for (const vendor::DriverFile& file : recorded.files)
        if (std::ranges::find(found.files, file) == found.files.end())
            return not_found(file.path);
    for (const DeviceNode& node : recorded.nodes)
        if (!is_among(node, found.nodes))
            return not_found(node.path);
    for (const DeviceNode& node : found.missing_nodes)
        if (std::ranges::find(recorded.missing_nodes, node) == recorded.missing_nodes.end())
            return Error(Errc::driver, node.host_path
                                           + ": missing on this host, which the host record "
                                             "does not say")
                .with_object(node.host_path)
                .with_hint(stale_record);
    if (recorded.masks != found.masks)
        return not_found(base::format("{} masks", recorded.vendor));
    return {};
}

} // namespace

std::uint32_t vendor_bit(std::string_view name)
{
    const vendor::Vendor* const vendor = vendor::find_vendor(name);
    return vendor != nullptr ? vendor->bit : 0;
}

Result<Detection> read_detection(const gpuctr_host_options* options)
{
    GPUCTR_TRY(const auto given, read_options(options));
    if ((given.vendors & ~known_vendors()) != 0)
        return Error(Errc::usage, "options of the host: an unknown vendor is asked for");
    if ((given.flags & ~GPUCTR_HOST_FILES_ALONE) != 0)
        return Error(Errc::usage, "options of the host: an unknown flag is set");
    Detection detection;
    detection.files_alone = (given.flags & GPUCTR_HOST_FILES_ALONE) != 0;
    detection.vendors = given.vendors;
    detection.driver_root = given.driver_root != nullptr ? given.driver_root : "/";
    for (const char* const* file = given.catalogues; file != nullptr && *file != nullptr; ++file)
        detection.catalogues.emplace_back(*file);
    if (given.catalogue_dir != nullptr)
        detection.catalogue_directory = given.catalogue_dir;
    if (given.dev_root != nullptr)
        detection.dev_root = given.dev_root;
    if (given.driver_version == nullptr)
        return detection;
    detection.driver_version = given.driver_version;
    GPUCTR_CHECK(check_version(detection));
    return detection;
}

Result<void> require_vendors(const Detection& detection, const std::vector<DriverStack>& drivers)
{
    for (const vendor::Vendor& vendor : vendor::vendors()) {
        const bool asked_for = (detection.vendors & vendor.bit) != 0;
        const auto is_there = [&](const DriverStack& driver) {
            return driver.vendor == vendor.name && (!driver.gpus.empty() || detection.files_alone);
        };
        if (asked_for && std::ranges::none_of(drivers, is_there))
            return missing(vendor);
    }
    return {};
}

Result<Detected> detect(const Detection& detection)
{
    GPUCTR_TRY(const auto root, host::DriverRoot::open(detection.driver_root));
    GPUCTR_TRY(auto site,
               vendor::read_site_catalogue(detection.catalogue_directory, detection.catalogues));
    GPUCTR_TRY(auto dev_root, dev_root_prefix(detection.dev_root));
    const auto pci = host::make_enumerator();
    const vendor::Sources sources = {
        *pci, root, "", detection.driver_version, std::move(site), std::move(dev_root)};
    Detected found;
    for (const vendor::Vendor& vendor : vendor::vendors()) {
        const bool asked_for = (detection.vendors & vendor.bit) != 0;
        if (!wants_any(detection.vendors) && !asked_for)
            continue;
        auto driver = detect(vendor, sources, asked_for && detection.files_alone);
        if (!driver && asked_for)
            return std::move(driver).error().context(base::format("{} driver", vendor.title));
        if (!driver)
            record_failure(found, vendor, driver.error());
        else if (*driver)
            found.drivers.push_back(**std::move(driver));
    }
    GPUCTR_CHECK(require_vendors(detection, found.drivers));
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

} // namespace gpucontainer::capi

// SPDX-License-Identifier: MIT
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "export/json.hpp"
#include "vendor/vendor.hpp"

#include <cerrno>
#include <fcntl.h>

using namespace gpucontainer;

namespace {

constexpr std::uint32_t known_vendors = GPUCTR_VENDOR_NVIDIA;

std::uint32_t bit_of(std::string_view vendor)
{
    return vendor == "nvidia" ? GPUCTR_VENDOR_NVIDIA : 0;
}

Error missing(const vendor::Vendor& vendor)
{
    return Error(Errc::no_device, fmt::format("no {} GPU on this host", vendor.title))
        .with_object(std::string(vendor.name))
        .with_hint("no kernel driver of it is loaded and no such display controller is on the "
                   "PCI bus");
}

bool is_plausible_version(std::string_view text)
{
    return text.find_first_not_of("0123456789.") == std::string_view::npos && !text.empty();
}

/// What stands in front of /dev, without links; "" for the usual one.
Result<std::string> dev_root_prefix(const char* path)
{
    if (path == nullptr)
        return std::string();
    const base::UniqueFd fd(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, fmt::format("device root {}", path), Errc::driver)
            .with_object(path)
            .with_hint("name the directory that holds the driver's /dev");
    GPUCTR_TRY(std::string prefix, base::path_of(fd.get()), "device root {}", path);
    return prefix == "/" ? std::string() : std::move(prefix);
}

Result<vendor::SiteCatalogue> read_site_catalogue(const gpuctr_host_options& options)
{
    std::vector<std::string> files;
    for (const char* const* file = options.catalogues; file != nullptr && *file != nullptr; ++file)
        files.emplace_back(*file);
    return vendor::read_site_catalogue(
        options.catalogue_dir != nullptr ? options.catalogue_dir : "", files);
}

void record_failure(gpuctr_host& host, const vendor::Vendor& vendor, const Error& error)
{
    if (host.skipped.empty())
        host.failure = error.code();
    host.skipped.push_back(
        {fmt::format("{} driver", vendor.title), error.object(), error.message()});
}

Result<gpuctr_host> detect(const gpuctr_host_options& options)
{
    const std::string version = options.driver_version != nullptr ? options.driver_version : "";
    if (options.driver_version != nullptr && !is_plausible_version(version))
        return Error(Errc::usage, fmt::format("driver version '{}': not a version", version))
            .with_object(version)
            .with_hint("a version looks like 580.159.04");
    GPUCTR_TRY(const auto root,
               host::DriverRoot::open(options.driver_root != nullptr ? options.driver_root : "/"));
    GPUCTR_TRY(auto site, read_site_catalogue(options));
    GPUCTR_TRY(auto dev_root, dev_root_prefix(options.dev_root));
    const auto pci = host::make_udev_enumerator();
    const vendor::Sources sources = {*pci, root, "", version, std::move(site), std::move(dev_root)};
    gpuctr_host host;
    std::vector<vendor::DriverStack> drivers;
    for (const vendor::Vendor& vendor : vendor::vendors()) {
        const bool asked_for = (options.vendors & bit_of(vendor.name)) != 0;
        if (options.vendors != 0 && !asked_for)
            continue;
        auto driver = vendor.detect(sources);
        if (!driver && asked_for)
            return std::move(driver).error().context(fmt::format("{} driver", vendor.title));
        if (!driver)
            record_failure(host, vendor, driver.error());
        else if (*driver)
            drivers.push_back(**std::move(driver));
        else if (asked_for)
            return missing(vendor);
    }
    host.drivers = std::make_shared<const std::vector<vendor::DriverStack>>(std::move(drivers));
    return host;
}

} // namespace

gpuctr_status gpuctr_host_open(const gpuctr_host_options* options, gpuctr_host** ret_host,
                               gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_host == nullptr)
            return Error(Errc::usage, "gpuctr_host_open: ret_host is missing");
        GPUCTR_TRY(const auto chosen, capi::read_options(options));
        if ((chosen.vendors & ~known_vendors) != 0 || chosen.reserved != 0)
            return Error(Errc::usage, "gpuctr_host_open: an unknown vendor is asked for");
        GPUCTR_TRY(gpuctr_host host, detect(chosen));
        *ret_host = new gpuctr_host(std::move(host));
        return {};
    });
}

void gpuctr_host_free(gpuctr_host* host) { delete host; }

gpuctr_status gpuctr_host_to_json(const gpuctr_host* host, char** ret_json,
                                  gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (host == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_host_to_json: host or ret_json is missing");
        *ret_json = capi::to_c_string(exports::host_to_json(*host->drivers, host->skipped));
        return {};
    });
}

size_t gpuctr_host_driver_count(const gpuctr_host* host) { return host->drivers->size(); }
const gpuctr_driver* gpuctr_host_driver_at(const gpuctr_host* host, size_t index)
{
    return capi::element_at<gpuctr_driver>(*host->drivers, index);
}

size_t gpuctr_host_skipped_count(const gpuctr_host* host) { return host->skipped.size(); }
const gpuctr_skipped* gpuctr_host_skipped_at(const gpuctr_host* host, size_t index)
{
    return capi::element_at<gpuctr_skipped>(host->skipped, index);
}

uint32_t gpuctr_driver_vendor(const gpuctr_driver* driver) { return bit_of(driver->vendor); }
const char* gpuctr_driver_vendor_name(const gpuctr_driver* driver)
{
    return driver->vendor.c_str();
}
const char* gpuctr_driver_version(const gpuctr_driver* driver) { return driver->version.c_str(); }
const char* gpuctr_driver_version_source(const gpuctr_driver* driver)
{
    return vendor::name(driver->version_source).data();
}
const char* gpuctr_driver_root(const gpuctr_driver* driver) { return driver->root.c_str(); }

size_t gpuctr_driver_gpu_count(const gpuctr_driver* driver) { return driver->gpus.size(); }
const gpuctr_gpu* gpuctr_driver_gpu_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_gpu>(driver->gpus, index);
}
size_t gpuctr_driver_file_count(const gpuctr_driver* driver) { return driver->files.size(); }
const gpuctr_file* gpuctr_driver_file_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_file>(driver->files, index);
}
size_t gpuctr_driver_node_count(const gpuctr_driver* driver) { return driver->nodes.size(); }
const gpuctr_node* gpuctr_driver_node_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_node>(driver->nodes, index);
}
size_t gpuctr_driver_skipped_count(const gpuctr_driver* driver) { return driver->skipped.size(); }
const gpuctr_skipped* gpuctr_driver_skipped_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_skipped>(driver->skipped, index);
}

uint32_t gpuctr_gpu_index(const gpuctr_gpu* gpu) { return gpu->index; }
const char* gpuctr_gpu_uuid(const gpuctr_gpu* gpu) { return gpu->uuid.c_str(); }
const char* gpuctr_gpu_pci_address(const gpuctr_gpu* gpu) { return gpu->pci_address.c_str(); }
const char* gpuctr_gpu_model(const gpuctr_gpu* gpu) { return gpu->model.c_str(); }
int32_t gpuctr_gpu_minor(const gpuctr_gpu* gpu) { return gpu->minor; }
int32_t gpuctr_gpu_numa_node(const gpuctr_gpu* gpu) { return gpu->numa_node; }

const char* gpuctr_file_kind(const gpuctr_file* file) { return vendor::name(file->kind).data(); }
const char* gpuctr_file_name(const gpuctr_file* file) { return file->name.c_str(); }
const char* gpuctr_file_soname(const gpuctr_file* file) { return file->soname.c_str(); }
const char* gpuctr_file_path(const gpuctr_file* file) { return file->path.c_str(); }
const char* gpuctr_file_capability(const gpuctr_file* file)
{
    return vendor::name(file->capability).data();
}

const char* gpuctr_node_path(const gpuctr_node* node) { return node->host_path.c_str(); }
uint32_t gpuctr_node_major(const gpuctr_node* node) { return node->major; }
uint32_t gpuctr_node_minor(const gpuctr_node* node) { return node->minor; }
int32_t gpuctr_node_gpu(const gpuctr_node* node) { return node->gpu; }
int gpuctr_node_accessible(const gpuctr_node* node) { return node->accessible ? 1 : 0; }

const char* gpuctr_skipped_name(const gpuctr_skipped* skipped) { return skipped->name.c_str(); }
const char* gpuctr_skipped_source(const gpuctr_skipped* skipped) { return skipped->source.c_str(); }
const char* gpuctr_skipped_reason(const gpuctr_skipped* skipped) { return skipped->reason.c_str(); }

// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"

using namespace gpucontainer;

gpuctr_status gpuctr_host_open(const gpuctr_host_options* options, gpuctr_host** ret_host,
                               gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_host == nullptr)
            return Error(Errc::usage, "gpuctr_host_open: ret_host is missing");
        GPUCTR_TRY(const auto detection, capi::read_detection(options));
        GPUCTR_TRY(auto host, detect::open_host(detection));
        *ret_host = new gpuctr_host{std::move(host)};
        return {};
    });
}

void gpuctr_host_free(gpuctr_host* host) { delete host; }

size_t gpuctr_host_driver_count(const gpuctr_host* host) { return host->host.drivers->size(); }
const gpuctr_driver* gpuctr_host_driver_at(const gpuctr_host* host, size_t index)
{
    return capi::element_at<gpuctr_driver>(*host->host.drivers, index);
}

size_t gpuctr_host_finding_count(const gpuctr_host* host) { return host->host.findings.size(); }
const gpuctr_finding* gpuctr_host_finding_at(const gpuctr_host* host, size_t index)
{
    return capi::element_at<gpuctr_finding>(host->host.findings, index);
}

const char* gpuctr_driver_vendor(const gpuctr_driver* driver) { return driver->vendor.c_str(); }
const char* gpuctr_driver_vendor_name(const gpuctr_driver* driver)
{
    return driver->vendor_name.c_str();
}
const char* gpuctr_driver_version(const gpuctr_driver* driver) { return driver->version.c_str(); }
const char* gpuctr_driver_version_source(const gpuctr_driver* driver)
{
    return model::name(driver->version_source).data();
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
size_t gpuctr_driver_finding_count(const gpuctr_driver* driver) { return driver->findings.size(); }
const gpuctr_finding* gpuctr_driver_finding_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_finding>(driver->findings, index);
}

uint32_t gpuctr_gpu_index(const gpuctr_gpu* gpu) { return gpu->index; }
const char* gpuctr_gpu_uuid(const gpuctr_gpu* gpu) { return gpu->uuid.c_str(); }
const char* gpuctr_gpu_pci_address(const gpuctr_gpu* gpu) { return gpu->pci_address.c_str(); }
const char* gpuctr_gpu_model(const gpuctr_gpu* gpu) { return gpu->model.c_str(); }
const char* gpuctr_gpu_architecture(const gpuctr_gpu* gpu) { return gpu->architecture.c_str(); }
int32_t gpuctr_gpu_minor(const gpuctr_gpu* gpu) { return gpu->minor; }
int32_t gpuctr_gpu_numa_node(const gpuctr_gpu* gpu) { return gpu->numa_node; }

const char* gpuctr_file_kind(const gpuctr_file* file) { return model::name(file->kind).data(); }
const char* gpuctr_file_name(const gpuctr_file* file) { return file->name.c_str(); }
const char* gpuctr_file_soname(const gpuctr_file* file) { return file->soname.c_str(); }
const char* gpuctr_file_path(const gpuctr_file* file) { return file->path.c_str(); }
const char* gpuctr_file_capability(const gpuctr_file* file)
{
    return model::name(file->capability).data();
}

const char* gpuctr_node_path(const gpuctr_node* node) { return node->host_path.c_str(); }
uint32_t gpuctr_node_major(const gpuctr_node* node) { return node->major; }
uint32_t gpuctr_node_minor(const gpuctr_node* node) { return node->minor; }
int32_t gpuctr_node_gpu(const gpuctr_node* node) { return node->gpu; }
int gpuctr_node_accessible(const gpuctr_node* node) { return node->accessible ? 1 : 0; }

// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "drivers/registry.hpp"

#include <algorithm>

using namespace gpucontainer;

namespace {

/// What requirements know by this name. None if it is about a GPU and there is none.
Result<std::string> fact_of(const model::DriverStack& driver, int gpu, std::string_view name)
{
    const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
    if (vendor == nullptr || vendor->facts == nullptr
        || std::ranges::find(vendor->fact_names, name, &requirement::Name::name)
               == vendor->fact_names.end())
        return Error(Errc::usage, base::format("{}: no fact is called '{}'", driver.vendor, name))
            .with_argument("name");
    const auto chosen =
        std::ranges::find(driver.gpus, static_cast<unsigned>(gpu), &model::Gpu::index);
    if (gpu >= 0 && chosen == driver.gpus.end())
        return Error(Errc::no_device, base::format("{}: no GPU {}", driver.vendor, gpu))
            .with_argument("gpu");
    const auto subject = vendor->facts(driver, gpu < 0 ? nullptr : &*chosen);
    const auto fact = std::ranges::find(subject.facts, name, &requirement::Fact::name);
    return fact == subject.facts.end() ? std::string() : base::joined(fact->values, ",");
}

} // namespace

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

// NOLINTNEXTLINE(readability-function-size): what a C function has to take
gpuctr_status gpuctr_host_fact(const gpuctr_host* host, const char* vendor, int32_t gpu,
                               const char* name, char** ret_value, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (host == nullptr || vendor == nullptr || name == nullptr || ret_value == nullptr)
            return Error(Errc::usage,
                         "gpuctr_host_fact: host, vendor, name or ret_value is missing");
        const auto& all = *host->host.drivers;
        const auto driver =
            std::ranges::find(all, std::string_view(vendor), &model::DriverStack::vendor);
        if (driver == all.end())
            return Error(Errc::no_device, base::format("no driver of vendor '{}'", vendor))
                .with_argument("vendor");
        GPUCTR_TRY(const std::string value, fact_of(*driver, gpu, name));
        *ret_value = capi::to_c_string(value);
        return {};
    });
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

const char* gpuctr_driver_cdi_kind(const gpuctr_driver* driver) { return driver->cdi_kind.c_str(); }
const char* gpuctr_driver_library_directory(const gpuctr_driver* driver)
{
    return driver->library_directory.c_str();
}
const char* gpuctr_driver_machine(const gpuctr_driver* driver) { return driver->machine.c_str(); }
int gpuctr_driver_has_optional_files(const gpuctr_driver* driver)
{
    return driver->optional_files ? 1 : 0;
}
const char* gpuctr_driver_tree_link(const gpuctr_driver* driver)
{
    return driver->tree_link.c_str();
}
size_t gpuctr_driver_need_count(const gpuctr_driver* driver) { return driver->needs.size(); }
const char* gpuctr_driver_need_at(const gpuctr_driver* driver, size_t index)
{
    return capi::text_at(driver->needs, index);
}
size_t gpuctr_driver_image_directory_count(const gpuctr_driver* driver)
{
    return driver->image_directories.size();
}
const char* gpuctr_driver_image_directory_at(const gpuctr_driver* driver, size_t index)
{
    return capi::text_at(driver->image_directories, index);
}
size_t gpuctr_driver_missing_node_count(const gpuctr_driver* driver)
{
    return driver->missing_nodes.size();
}
const gpuctr_node* gpuctr_driver_missing_node_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_node>(driver->missing_nodes, index);
}
size_t gpuctr_driver_mask_count(const gpuctr_driver* driver) { return driver->masks.size(); }
const gpuctr_mask* gpuctr_driver_mask_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_mask>(driver->masks, index);
}

size_t gpuctr_gpu_name_count(const gpuctr_gpu* gpu) { return gpu->names.size(); }
const char* gpuctr_gpu_name_at(const gpuctr_gpu* gpu, size_t index)
{
    return capi::text_at(gpu->names, index);
}
uint32_t gpuctr_gpu_parts(const gpuctr_gpu* gpu) { return gpu->parts; }
int32_t gpuctr_gpu_parent(const gpuctr_gpu* gpu) { return gpu->parent; }

const char* gpuctr_file_also(const gpuctr_file* file) { return model::name(file->also).data(); }
const char* gpuctr_file_reason(const gpuctr_file* file) { return file->reason.c_str(); }
int gpuctr_file_is_directory(const gpuctr_file* file) { return file->directory ? 1 : 0; }
int gpuctr_file_is_compat32(const gpuctr_file* file) { return file->compat32 ? 1 : 0; }
const char* gpuctr_file_precedence(const gpuctr_file* file)
{
    return model::name(file->precedence).data();
}
size_t gpuctr_file_link_count(const gpuctr_file* file) { return file->links.size(); }
const char* gpuctr_file_link_at(const gpuctr_file* file, size_t index)
{
    return capi::text_at(file->links, index);
}
size_t gpuctr_file_entry_name_count(const gpuctr_file* file) { return file->entry_names.size(); }
const char* gpuctr_file_entry_name_at(const gpuctr_file* file, size_t index)
{
    return capi::text_at(file->entry_names, index);
}
size_t gpuctr_file_needed_count(const gpuctr_file* file) { return file->needed.size(); }
const char* gpuctr_file_needed_at(const gpuctr_file* file, size_t index)
{
    return capi::text_at(file->needed, index);
}
size_t gpuctr_file_version_need_count(const gpuctr_file* file) { return file->versions.size(); }
const gpuctr_version_need* gpuctr_file_version_need_at(const gpuctr_file* file, size_t index)
{
    return capi::element_at<gpuctr_version_need>(file->versions, index);
}
const char* gpuctr_version_need_library(const gpuctr_version_need* need)
{
    return need->library.c_str();
}
const char* gpuctr_version_need_version(const gpuctr_version_need* need)
{
    return need->version.c_str();
}
size_t gpuctr_file_registration_count(const gpuctr_file* file)
{
    return file->registrations.size();
}
const gpuctr_registration* gpuctr_file_registration_at(const gpuctr_file* file, size_t index)
{
    return capi::element_at<gpuctr_registration>(file->registrations, index);
}
const char* gpuctr_registration_manner(const gpuctr_registration* registration)
{
    return model::name(registration->manner).data();
}
const char* gpuctr_registration_name(const gpuctr_registration* registration)
{
    return registration->name.c_str();
}
const char* gpuctr_registration_content(const gpuctr_registration* registration)
{
    return registration->content.c_str();
}
gpuctr_file_id gpuctr_file_identity(const gpuctr_file* file) { return capi::to_c(file->id); }

const char* gpuctr_node_container_path(const gpuctr_node* node) { return node->path.c_str(); }
uint32_t gpuctr_node_mode(const gpuctr_node* node) { return node->mode; }
uint32_t gpuctr_node_uid(const gpuctr_node* node) { return node->uid; }
uint32_t gpuctr_node_gid(const gpuctr_node* node) { return node->gid; }
const char* gpuctr_node_capability(const gpuctr_node* node)
{
    return model::name(node->capability).data();
}
int gpuctr_node_required(const gpuctr_node* node) { return node->required ? 1 : 0; }
int gpuctr_node_cgroup_forbids(const gpuctr_node* node) { return node->cgroup_forbids ? 1 : 0; }
size_t gpuctr_node_link_count(const gpuctr_node* node) { return node->links.size(); }
const char* gpuctr_node_link_at(const gpuctr_node* node, size_t index)
{
    return capi::text_at(node->links, index);
}

const char* gpuctr_mask_path(const gpuctr_mask* mask) { return mask->path.c_str(); }
const char* gpuctr_mask_content(const gpuctr_mask* mask) { return mask->content.c_str(); }
const char* gpuctr_mask_reason(const gpuctr_mask* mask) { return mask->reason.c_str(); }
int gpuctr_mask_is_directory(const gpuctr_mask* mask) { return mask->directory ? 1 : 0; }
const char* gpuctr_node_extra(const gpuctr_node* node) { return node->extra.c_str(); }
int gpuctr_node_is_makeable(const gpuctr_node* node) { return node->makeable ? 1 : 0; }
const char* gpuctr_node_problem(const gpuctr_node* node) { return node->problem.c_str(); }
size_t gpuctr_driver_shared_path_count(const gpuctr_driver* driver)
{
    return driver->shared_paths.size();
}
const gpuctr_shared_path* gpuctr_driver_shared_path_at(const gpuctr_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_shared_path>(driver->shared_paths, index);
}
const char* gpuctr_shared_path_path(const gpuctr_shared_path* shared)
{
    return shared->path.c_str();
}
const char* gpuctr_shared_path_kind(const gpuctr_shared_path* shared)
{
    return model::name(shared->kind).data();
}
const char* gpuctr_shared_path_capability(const gpuctr_shared_path* shared)
{
    return model::name(shared->capability).data();
}
const char* gpuctr_shared_path_extra(const gpuctr_shared_path* shared)
{
    return shared->extra.c_str();
}
uint32_t gpuctr_shared_path_uid(const gpuctr_shared_path* shared) { return shared->uid; }
int gpuctr_shared_path_accessible(const gpuctr_shared_path* shared)
{
    return shared->accessible ? 1 : 0;
}
const char* gpuctr_shared_path_reason(const gpuctr_shared_path* shared)
{
    return shared->reason.c_str();
}
int gpuctr_mask_is_against_nodes(const gpuctr_mask* mask) { return mask->against_nodes ? 1 : 0; }
size_t gpuctr_mask_shown_count(const gpuctr_mask* mask) { return mask->shown.size(); }
const gpuctr_shown* gpuctr_mask_shown_at(const gpuctr_mask* mask, size_t index)
{
    return capi::element_at<gpuctr_shown>(mask->shown, index);
}
const char* gpuctr_shown_name(const gpuctr_shown* shown) { return shown->name.c_str(); }
int32_t gpuctr_shown_gpu(const gpuctr_shown* shown) { return shown->gpu; }
int gpuctr_shown_is_directory(const gpuctr_shown* shown) { return shown->directory ? 1 : 0; }
const char* gpuctr_shown_extra(const gpuctr_shown* shown) { return shown->extra.c_str(); }

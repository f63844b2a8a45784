// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"
#include "apply/status.hpp"
#include "apply/undo.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/report.hpp"
#include "capi/request.hpp"
#include "export/json.hpp"
#include "privilege/process.hpp"

#include <cerrno>
#include <fcntl.h>

using namespace gpucontainer;

namespace {

constexpr std::uint32_t undo_flags =
    GPUCTR_UNDO_IN_PROCESS | GPUCTR_UNDO_SETUID | GPUCTR_UNDO_DRY_RUN;

Result<apply::Target> read_undo_options(int rootfs_fd, const gpuctr_undo_options& given)
{
    GPUCTR_TRY(auto target,
               capi::read_target(rootfs_fd, given, undo_flags, GPUCTR_UNDO_IN_PROCESS));
    target.for_setuid = (given.flags & GPUCTR_UNDO_SETUID) != 0;
    target.dry_run = (given.flags & GPUCTR_UNDO_DRY_RUN) != 0;
    GPUCTR_CHECK(privilege::refuse_raised(target.for_setuid));
    return target;
}

} // namespace

gpuctr_status gpuctr_rootfs_undo(int rootfs_fd, const gpuctr_undo_options* options, int* ret_found,
                                 gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (rootfs_fd < 0)
            return Error(Errc::usage, "gpuctr_rootfs_undo: rootfs_fd is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(auto target, read_undo_options(rootfs_fd, given));
        capi::Report report(given.report, given.report_data);
        target.findings = report.findings();
        GPUCTR_TRY(const bool found, apply::undo(target));
        if (ret_found != nullptr)
            *ret_found = found ? 1 : 0;
        return {};
    });
}

gpuctr_status gpuctr_rootfs_open(int rootfs_fd, const char* path, int flags, int* ret_fd,
                                 gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (rootfs_fd < 0 || path == nullptr || ret_fd == nullptr)
            return Error(Errc::usage, "gpuctr_rootfs_open: an argument is missing");
        if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
            return Error(Errc::usage, "gpuctr_rootfs_open: O_CREAT and O_TMPFILE are not for it");
        base::UniqueFd fd(base::open_in_root(rootfs_fd, path, static_cast<unsigned>(flags)));
        if (!fd)
            return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
        *ret_fd = fd.release();
        return {};
    });
}

gpuctr_status gpuctr_setup_list_open(int rootfs_fd, const gpuctr_setup_list_options* options,
                                     gpuctr_setup_list** ret_list, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_list == nullptr)
            return Error(Errc::usage, "gpuctr_setup_list_open: ret_list is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(const auto target,
                   capi::read_target(rootfs_fd, given, GPUCTR_SETUP_LIST_IN_PROCESS,
                                     GPUCTR_SETUP_LIST_IN_PROCESS));
        if (rootfs_fd < 0 && target.pidfd >= 0)
            return Error(Errc::usage, "gpuctr_setup_list_open: a process without its rootfs_fd");
        GPUCTR_TRY(auto set_ups, rootfs_fd < 0 ? apply::look_at_all(target.state_directory)
                                               : apply::look_at_root(target));
        *ret_list = new gpuctr_setup_list{std::move(set_ups)};
        return {};
    });
}

void gpuctr_setup_list_free(gpuctr_setup_list* list) { delete list; }

gpuctr_status gpuctr_setup_list_to_json(const gpuctr_setup_list* list, char** ret_json,
                                        gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (list == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_setup_list_to_json: list or ret_json is missing");
        *ret_json = capi::to_c_string(exports::set_ups_to_json(list->set_ups));
        return {};
    });
}

gpuctr_status gpuctr_setup_undo(const gpuctr_setup* setup, const gpuctr_undo_options* options,
                                uint32_t* ret_outcome, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (setup == nullptr)
            return Error(Errc::usage, "gpuctr_setup_undo: setup is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(auto target, read_undo_options(-1, given));
        if (target.pidfd >= 0)
            return Error(Errc::usage, "gpuctr_setup_undo: goes by the path of the root, not by a "
                                      "process");
        capi::Report report(given.report, given.report_data);
        target.findings = report.findings();
        GPUCTR_TRY(const auto undone, apply::undo_set_up(setup->root, setup->key, target));
        if (ret_outcome != nullptr)
            *ret_outcome = static_cast<std::uint32_t>(undone);
        return {};
    });
}

size_t gpuctr_setup_list_count(const gpuctr_setup_list* list) { return list->set_ups.size(); }
const gpuctr_setup* gpuctr_setup_list_at(const gpuctr_setup_list* list, size_t index)
{
    return capi::element_at<gpuctr_setup>(list->set_ups, index);
}

const char* gpuctr_setup_root(const gpuctr_setup* setup) { return setup->root_path.c_str(); }
const char* gpuctr_setup_origin(const gpuctr_setup* setup)
{
    return apply::name(setup->origin).data();
}
uint64_t gpuctr_setup_mount_namespace(const gpuctr_setup* setup)
{
    return setup->key.from.mount_namespace;
}
int32_t gpuctr_setup_process(const gpuctr_setup* setup) { return setup->process; }
size_t gpuctr_setup_driver_count(const gpuctr_setup* setup) { return setup->drivers.size(); }
const gpuctr_used_driver* gpuctr_setup_driver_at(const gpuctr_setup* setup, size_t index)
{
    return capi::element_at<gpuctr_used_driver>(setup->drivers, index);
}
const char* gpuctr_used_driver_vendor(const gpuctr_used_driver* driver)
{
    return driver->vendor.c_str();
}
const char* gpuctr_used_driver_version(const gpuctr_used_driver* driver)
{
    return driver->version.c_str();
}
const char* gpuctr_used_driver_version_source(const gpuctr_used_driver* driver)
{
    return driver->version_source ? model::name(*driver->version_source).data() : "";
}
size_t gpuctr_used_driver_gpu_count(const gpuctr_used_driver* driver)
{
    return driver->gpus.size();
}
const gpuctr_gpu* gpuctr_used_driver_gpu_at(const gpuctr_used_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_gpu>(driver->gpus, index);
}
const char* gpuctr_setup_tree_path(const gpuctr_setup* setup) { return setup->tree_path.c_str(); }
int64_t gpuctr_setup_since(const gpuctr_setup* setup) { return setup->since; }
int gpuctr_setup_writes_root(const gpuctr_setup* setup) { return setup->writes_root ? 1 : 0; }

size_t gpuctr_setup_item_count(const gpuctr_setup* setup) { return setup->items.size(); }
const gpuctr_item* gpuctr_setup_item_at(const gpuctr_setup* setup, size_t index)
{
    return capi::element_at<gpuctr_item>(setup->items, index);
}

size_t gpuctr_setup_finding_count(const gpuctr_setup* setup) { return setup->findings.size(); }
const gpuctr_finding* gpuctr_setup_finding_at(const gpuctr_setup* setup, size_t index)
{
    return capi::element_at<gpuctr_finding>(setup->findings, index);
}

// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"
#include "apply/status.hpp"
#include "apply/undo.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/warnings.hpp"
#include "export/json.hpp"
#include "privilege/process.hpp"

#include <fcntl.h>

using namespace gpucontainer;

namespace {

constexpr const char* default_state_directory = "/var/lib/gpucontainer";
constexpr std::uint32_t known_flags = GPUCTR_APPLY_IN_PROCESS | GPUCTR_APPLY_SETUID;

} // namespace

Result<apply::Target> capi::read_target(int rootfs_fd, const gpuctr_apply_options* options,
                                        std::uint32_t further_flags)
{
    GPUCTR_TRY(const auto given, read_options(options));
    if ((given.flags & ~(known_flags | further_flags)) != 0)
        return Error(Errc::usage, "apply options: an unknown flag is set");
    apply::Target target;
    target.rootfs_fd = rootfs_fd;
    target.state_directory = given.state_dir != nullptr ? given.state_dir : default_state_directory;
    if ((given.flags & GPUCTR_APPLY_IN_PROCESS) != 0) {
        if (given.pidfd < 0)
            return Error(Errc::usage, "apply options: pidfd is missing");
        target.pidfd = given.pidfd;
    }
    target.for_setuid = (given.flags & GPUCTR_APPLY_SETUID) != 0;
    target.no_replace = (given.flags & GPUCTR_APPLY_NO_REPLACE) != 0;
    target.over_copies = (given.flags & GPUCTR_APPLY_OVER_COPIES) != 0;
    return target;
}

gpuctr_status gpuctr_rootfs_undo(int rootfs_fd, const gpuctr_apply_options* options, int* ret_found,
                                 gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (rootfs_fd < 0)
            return Error(Errc::usage, "gpuctr_rootfs_undo: rootfs_fd is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(auto target, capi::read_target(rootfs_fd, options));
        GPUCTR_CHECK(privilege::refuse_raised(target.for_setuid));
        capi::Warnings warnings(given);
        target.warnings = warnings.lines();
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

gpuctr_status gpuctr_state_open(int rootfs_fd, const gpuctr_apply_options* options,
                                gpuctr_state** ret_state, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_state == nullptr)
            return Error(Errc::usage, "gpuctr_state_open: ret_state is missing");
        GPUCTR_TRY(const auto target, capi::read_target(rootfs_fd, options));
        if (rootfs_fd < 0 && target.pidfd >= 0)
            return Error(Errc::usage, "gpuctr_state_open: a process without its rootfs_fd");
        GPUCTR_TRY(auto set_ups, rootfs_fd < 0 ? apply::look_at_all(target.state_directory)
                                               : apply::look_at_root(target));
        *ret_state = new gpuctr_state{std::move(set_ups)};
        return {};
    });
}

void gpuctr_state_free(gpuctr_state* state) { delete state; }

gpuctr_status gpuctr_state_to_json(const gpuctr_state* state, char** ret_json,
                                   gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (state == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_state_to_json: state or ret_json is missing");
        *ret_json = capi::to_c_string(exports::set_ups_to_json(state->set_ups));
        return {};
    });
}

gpuctr_status gpuctr_applied_undo(const gpuctr_applied* applied,
                                  const gpuctr_apply_options* options, uint32_t* ret_outcome,
                                  gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (applied == nullptr)
            return Error(Errc::usage, "gpuctr_applied_undo: applied is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(auto target, capi::read_target(-1, options));
        if (target.pidfd >= 0)
            return Error(Errc::usage, "gpuctr_applied_undo: goes by the path of the root, not by a "
                                      "process");
        GPUCTR_CHECK(privilege::refuse_raised(target.for_setuid));
        capi::Warnings warnings(given);
        target.warnings = warnings.lines();
        GPUCTR_TRY(const auto undone, apply::undo_set_up(applied->root, applied->key, target));
        if (ret_outcome != nullptr)
            *ret_outcome = static_cast<std::uint32_t>(undone);
        return {};
    });
}

size_t gpuctr_state_count(const gpuctr_state* state) { return state->set_ups.size(); }
const gpuctr_applied* gpuctr_state_at(const gpuctr_state* state, size_t index)
{
    return capi::element_at<gpuctr_applied>(state->set_ups, index);
}

const char* gpuctr_applied_root(const gpuctr_applied* applied)
{
    return applied->root_path.c_str();
}
const char* gpuctr_applied_origin(const gpuctr_applied* applied)
{
    return apply::name(applied->origin).data();
}
uint64_t gpuctr_applied_mount_namespace(const gpuctr_applied* applied)
{
    return applied->key.from.mount_namespace;
}
int32_t gpuctr_applied_process(const gpuctr_applied* applied) { return applied->process; }
size_t gpuctr_applied_driver_count(const gpuctr_applied* applied)
{
    return applied->drivers.size();
}
const gpuctr_used_driver* gpuctr_applied_driver_at(const gpuctr_applied* applied, size_t index)
{
    return capi::element_at<gpuctr_used_driver>(applied->drivers, index);
}
const char* gpuctr_used_driver_vendor(const gpuctr_used_driver* driver)
{
    return driver->vendor.c_str();
}
const char* gpuctr_used_driver_version(const gpuctr_used_driver* driver)
{
    return driver->version.c_str();
}
size_t gpuctr_used_driver_gpu_count(const gpuctr_used_driver* driver)
{
    return driver->gpus.size();
}
const gpuctr_gpu* gpuctr_used_driver_gpu_at(const gpuctr_used_driver* driver, size_t index)
{
    return capi::element_at<gpuctr_gpu>(driver->gpus, index);
}
const char* gpuctr_applied_tree_path(const gpuctr_applied* applied)
{
    return applied->tree_path.c_str();
}
int64_t gpuctr_applied_since(const gpuctr_applied* applied) { return applied->since; }
int gpuctr_applied_writes_root(const gpuctr_applied* applied)
{
    return applied->writes_root ? 1 : 0;
}

size_t gpuctr_applied_problem_count(const gpuctr_applied* applied)
{
    return applied->problems.size();
}
const gpuctr_problem* gpuctr_applied_problem_at(const gpuctr_applied* applied, size_t index)
{
    return capi::element_at<gpuctr_problem>(applied->problems, index);
}
const char* gpuctr_problem_kind(const gpuctr_problem* problem)
{
    return apply::name(problem->kind).data();
}
int gpuctr_problem_is_error(const gpuctr_problem* problem)
{
    return apply::is_error(problem->kind) ? 1 : 0;
}
const char* gpuctr_problem_object(const gpuctr_problem* problem) { return problem->object.c_str(); }
const char* gpuctr_problem_text(const gpuctr_problem* problem) { return problem->text.c_str(); }

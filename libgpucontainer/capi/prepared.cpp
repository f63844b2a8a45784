// SPDX-License-Identifier: MIT
#include "apply/prepare.hpp"
#include "apply/sources.hpp"
#include "apply/tree.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "privilege/process.hpp"
#include "program/builder.hpp"
#include "program/executor.hpp"

#include <algorithm>
#include <cstring>
#include <string>

using namespace gpucontainer;

namespace {

program::Program program_of(const gpuctr_prepared* prepared)
{
    // The handle is the block, in which attach keeps its state.
    return program::Program(const_cast<gpuctr_prepared*>(prepared)); // NOLINT
}

/// Copies a text; a long one loses its start, because the end of a path says more.
template <std::size_t Size>
void copy_text(char (&to)[Size], const char* from) noexcept // NOLINT(modernize-avoid-c-arrays)
{
    const std::size_t length = std::strlen(from);
    const char* const start = length < Size ? from : from + (length - (Size - 1));
    std::memcpy(to, start, std::strlen(start) + 1);
}

gpuctr_status report(const program::Failure& failure, gpuctr_attach_error* ret_error) noexcept
{
    const auto status = -static_cast<gpuctr_status>(failure.code);
    if (ret_error == nullptr)
        return status;
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;
    error.struct_size = ret_error->struct_size;
    error.status = status;
    error.os_error = failure.os_error;
    copy_text(error.step, failure.step);
    copy_text(error.object, failure.object);
    std::memcpy(ret_error, &error, std::min(error.struct_size, sizeof error));
    return status;
}

gpuctr_status refused(Errc code, const char* step, gpuctr_attach_error* ret_error) noexcept
{
    program::Failure failure;
    failure.code = code;
    failure.step = step;
    return report(failure, ret_error);
}

bool is_for_another_program(const program::Program& program) noexcept
{
    return program.header().for_setuid == 0 && privilege::is_raised();
}

Result<gpuctr_stage_options> read_stage_options(const gpuctr_stage_options* options)
{
    GPUCTR_TRY(const auto given, capi::read_options(options));
    if ((given.flags & ~GPUCTR_STAGE_SETUID) != 0)
        return Error(Errc::usage, "stage options: an unknown flag is set").with_argument("flags");
    GPUCTR_CHECK(privilege::refuse_raised((given.flags & GPUCTR_STAGE_SETUID) != 0));
    return given;
}

} // namespace

gpuctr_status gpuctr_plan_prepare(const gpuctr_plan* plan, const gpuctr_prepare_options* options,
                                  gpuctr_prepared** ret_prepared, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || ret_prepared == nullptr)
            return Error(Errc::usage, "gpuctr_plan_prepare: plan or ret_prepared is missing");
        GPUCTR_TRY(const auto given, capi::read_options(options));
        if ((given.flags & ~GPUCTR_PREPARE_SETUID) != 0)
            return Error(Errc::usage, "prepare options: an unknown flag is set")
                .with_argument("flags");
        const bool for_setuid = (given.flags & GPUCTR_PREPARE_SETUID) != 0;
        GPUCTR_CHECK(privilege::refuse_raised(for_setuid));
        GPUCTR_TRY(const auto staged_tree,
                   about("staged_tree", apply::staged_path(capi::text_of(given.staged_tree))));
        GPUCTR_TRY(const auto backend, capi::read_backend(given.backend));
        GPUCTR_CHECK(plan::prove(plan->planned));
        GPUCTR_CHECK(apply::require_detached(backend));
        GPUCTR_TRY(auto block, apply::prepare(plan->planned.plan, {backend}, staged_tree));
        program::Program(block.get()).header().for_setuid = for_setuid ? 1 : 0;
        *ret_prepared = reinterpret_cast<gpuctr_prepared*>(block.release());
        return {};
    });
}

gpuctr_status gpuctr_plan_stage(const gpuctr_plan* plan, const char* directory,
                                const gpuctr_stage_options* options, uint32_t* ret_outcome,
                                gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || directory == nullptr || *directory == '\0')
            return Error(Errc::usage, "gpuctr_plan_stage: plan or directory is missing");
        GPUCTR_TRY(const auto path, about("directory", apply::staged_path(directory)));
        GPUCTR_TRY(const auto given, read_stage_options(options));
        GPUCTR_TRY(const auto backend, capi::read_backend(given.backend));
        GPUCTR_CHECK(plan::prove(plan->planned));
        GPUCTR_TRY(const auto outcome, apply::stage_tree(plan->planned.plan, backend, path));
        if (ret_outcome != nullptr)
            *ret_outcome = static_cast<std::uint32_t>(outcome);
        return {};
    });
}

gpuctr_status gpuctr_unstage(const char* directory, const gpuctr_stage_options* options,
                             int* ret_found, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (directory == nullptr || *directory == '\0')
            return Error(Errc::usage, "gpuctr_unstage: directory is missing");
        GPUCTR_TRY(const auto path, about("directory", apply::staged_path(directory)));
        GPUCTR_TRY(const auto given, read_stage_options(options));
        if (given.backend != GPUCTR_BACKEND_AUTO)
            return Error(Errc::usage, "gpuctr_unstage: a backend has nothing to do with it")
                .with_argument("backend");
        GPUCTR_TRY(const bool found, apply::unstage_tree(path));
        if (ret_found != nullptr)
            *ret_found = found ? 1 : 0;
        return {};
    });
}

void gpuctr_prepared_free(gpuctr_prepared* prepared) { program::release(prepared); }

size_t gpuctr_prepared_fd_count(const gpuctr_prepared* prepared)
{
    return program_of(prepared).fds().size();
}

int gpuctr_prepared_fd_at(const gpuctr_prepared* prepared, size_t index)
{
    const auto fds = program_of(prepared).fds();
    return index < fds.size() ? fds[index] : -1;
}

const void* gpuctr_prepared_data(const gpuctr_prepared* prepared) { return prepared; }

size_t gpuctr_prepared_size(const gpuctr_prepared* prepared)
{
    return program_of(prepared).header().size;
}

gpuctr_prepared* gpuctr_prepared_adopt(void* buffer, size_t size, const int* fds, size_t fd_count)
{
    if (!program::Program::is_valid(buffer, size))
        return nullptr;
    const program::Program program(buffer);
    if (fd_count != program.fds().size() || (fd_count > 0 && fds == nullptr))
        return nullptr;
    std::copy_n(fds, fd_count, program.fds().begin());
    program.header().owned = 0;
    return static_cast<gpuctr_prepared*>(buffer);
}

gpuctr_status gpuctr_prepared_attach(gpuctr_prepared* prepared, int rootfs_fd,
                                     gpuctr_attach_error* ret_error)
{
    if (prepared == nullptr || rootfs_fd < 0)
        return refused(Errc::usage, "attach without a prepared plan or a root", ret_error);
    const program::Program program(prepared);
    if (program.header().attached != 0)
        return refused(Errc::usage, "attach a second time", ret_error);
    if (is_for_another_program(program))
        return refused(Errc::permission, "attach in a program with raised privileges", ret_error);
    program::Failure failure;
    return program::attach(program, rootfs_fd, failure) ? GPUCTR_OK : report(failure, ret_error);
}

gpuctr_status gpuctr_prepared_undo(gpuctr_prepared* prepared, int rootfs_fd,
                                   gpuctr_attach_error* ret_error)
{
    if (prepared == nullptr || rootfs_fd < 0)
        return refused(Errc::usage, "undo without a prepared plan or a root", ret_error);
    const program::Program program(prepared);
    if (is_for_another_program(program))
        return refused(Errc::permission, "undo in a program with raised privileges", ret_error);
    program::Failure failure;
    return program::undo(program, rootfs_fd, failure) ? GPUCTR_OK : report(failure, ret_error);
}

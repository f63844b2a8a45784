// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "export/json.hpp"

using namespace gpucontainer;

namespace {

Result<check::Subject> read_subject(const gpuctr_check_options& given, int rootfs_fd)
{
    const bool in_process = (given.flags & GPUCTR_CHECK_IN_PROCESS) != 0;
    if ((given.flags & ~GPUCTR_CHECK_IN_PROCESS) != 0)
        return Error(Errc::usage, "options of the check: an unknown flag is set")
            .with_argument("flags");
    if (in_process && (given.pidfd < 0 || rootfs_fd < 0))
        return Error(Errc::usage, "options of the check: pidfd or rootfs_fd is missing")
            .with_argument("pidfd");
    check::Subject subject;
    subject.pidfd = in_process ? given.pidfd : -1;
    GPUCTR_TRY(subject.detection, capi::read_detection(given.host));
    if (given.record != nullptr)
        subject.record = &given.record->host;
    GPUCTR_TRY(const auto request, capi::read_options(given.request));
    GPUCTR_TRY(subject.request, capi::read_request(request));
    subject.rootfs_fd = rootfs_fd;
    subject.program = capi::text_of(given.program);
    if (subject.request.glibc.program.empty())
        subject.request.glibc.program = subject.program;
    return subject;
}

} // namespace

gpuctr_status gpuctr_check_create(const gpuctr_check_options* options, int rootfs_fd,
                                  gpuctr_check** ret_check, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_check == nullptr)
            return Error(Errc::usage, "gpuctr_check_create: ret_check is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(const auto given, capi::read_options(options));
        GPUCTR_TRY(const check::Subject subject, read_subject(given, rootfs_fd));
        GPUCTR_TRY(auto diagnosis, check::check(subject));
        *ret_check = new gpuctr_check{std::move(diagnosis)};
        return {};
    });
}

void gpuctr_check_free(gpuctr_check* check) { delete check; }

gpuctr_status gpuctr_check_to_json(const gpuctr_check* check, char** ret_json,
                                   gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (check == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_check_to_json: check or ret_json is missing");
        *ret_json = capi::to_c_string(exports::diagnosis_to_json(check->diagnosis));
        return {};
    });
}

size_t gpuctr_check_finding_count(const gpuctr_check* check)
{
    return check->diagnosis.findings.size();
}
const gpuctr_finding* gpuctr_check_finding_at(const gpuctr_check* check, size_t index)
{
    return capi::element_at<gpuctr_finding>(check->diagnosis.findings, index);
}

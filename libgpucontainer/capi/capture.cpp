// SPDX-License-Identifier: MIT
#include "capture/capture.hpp"

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/report.hpp"
#include "capi/request.hpp"
#include "privilege/process.hpp"

using namespace gpucontainer;

// NOLINTNEXTLINE(readability-function-size): what a C function has to take
gpuctr_status gpuctr_host_capture(const gpuctr_host_options* options,
                                  const char* const* environment, uint32_t flags, int fd,
                                  gpuctr_report report, void* report_data, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (fd < 0)
            return Error(Errc::usage, "gpuctr_host_capture: fd is missing");
        if ((flags & ~GPUCTR_CAPTURE_WITH_IDENTITIES) != 0)
            return Error(Errc::usage, "gpuctr_host_capture: an unknown flag is set")
                .with_argument("flags");
        GPUCTR_CHECK(privilege::refuse_raised(false));
        capture::Subject subject;
        GPUCTR_TRY(subject.detection, capi::read_detection(options));
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.driver_capabilities = "compute,utility,graphics,video";
        request.environment = environment;
        GPUCTR_TRY(subject.request, capi::read_request(request));
        subject.environment = capi::strings(environment);
        subject.with_identities = (flags & GPUCTR_CAPTURE_WITH_IDENTITIES) != 0;
        subject.version = gpuctr_version();
        capi::Report said(report, report_data);
        const capture::Report gathered = capture::gather(subject);
        GPUCTR_CHECK(capture::write(gathered, fd));
        if (said.findings() != nullptr)
            *said.findings() = capture::findings_of(gathered);
        return {};
    });
}

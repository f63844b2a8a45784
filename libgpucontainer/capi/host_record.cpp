// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "export/json.hpp"
#include "export/read_host.hpp"

using namespace gpucontainer;

gpuctr_status gpuctr_host_to_json(const gpuctr_host* host, char** ret_json,
                                  gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (host == nullptr || ret_json == nullptr)
            return Error(Errc::usage, "gpuctr_host_to_json: host or ret_json is missing");
        *ret_json = capi::to_c_string(exports::host_to_json(
            *host->host.drivers, host->host.findings, host->host.fingerprint));
        return {};
    });
}

gpuctr_status gpuctr_host_from_json(const char* json, size_t size,
                                    const gpuctr_host_options* options, gpuctr_host** ret_host,
                                    gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (json == nullptr || ret_host == nullptr)
            return Error(Errc::usage, "gpuctr_host_from_json: json or ret_host is missing");
        GPUCTR_TRY(auto detection, capi::read_detection(options));
        GPUCTR_TRY(auto record, about("json", exports::host_from_json({json, size})));
        GPUCTR_CHECK(about("json", detect::require_vendors(detection, record.drivers)),
                     "host record");
        auto required = detection.vendors;
        *ret_host = new gpuctr_host{
            {std::make_shared<const std::vector<model::DriverStack>>(std::move(record.drivers)),
             std::move(record.findings), Errc::driver, std::move(required),
             std::move(record.fingerprint), std::move(detection)}};
        return {};
    });
}

int gpuctr_host_is_current(const gpuctr_host* host)
{
    int current = 0;
    (void)capi::boundary(nullptr, [&]() -> Result<void> {
        if (detect::is_current("", *host->host.drivers, host->host.fingerprint))
            current = 1;
        return {};
    });
    return current;
}

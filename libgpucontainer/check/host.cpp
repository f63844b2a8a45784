// SPDX-License-Identifier: MIT
#include "check/host.hpp"

#include "base/try.hpp"
#include "check/causes.hpp"

namespace gpucontainer::check {

using model::FindingCode;
using model::Stage;

HostSeen look_at_record(const detect::Host& record)
{
    HostSeen seen;
    seen.host = record;
    for (const model::DriverStack& driver : *record.drivers)
        add_warnings(driver.findings, seen.causes);
    return seen;
}

Result<HostSeen> look_at_host(const detect::Detection& detection)
{
    auto host = detect::open_host(detection);
    if (host)
        return look_at_record(*host);
    if (host.error().code() == Errc::usage)
        return std::move(host).error();
    HostSeen seen;
    seen.host.drivers = std::make_shared<const std::vector<model::DriverStack>>();
    seen.causes.push_back(cause_of(host.error(), FindingCode::driver_unusable, Stage::host));
    return seen;
}

} // namespace gpucontainer::check

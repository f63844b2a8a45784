// SPDX-License-Identifier: MIT
#include "detect/host.hpp"

#include "base/try.hpp"
#include "search/site_catalogue.hpp"

#include <span>
#include <utility>

namespace gpucontainer::detect {

Result<Host> open_host(const Detection& detection)
{
    auto beginning = begin_fingerprint("");
    GPUCTR_TRY(auto described, read_site(detection));
    const auto built_in = drivers::vendors().size();
    note_described(beginning, "",
                   std::span<const drivers::Vendor>(described.vendors).subspan(built_in));
    GPUCTR_TRY(auto found, detect(detection, std::move(described)));
    auto site = search::site_places(detection.catalogue_directory, detection.catalogues);
    if (!detection.mig_map.empty())
        site.push_back(detection.mig_map);
    auto marks = fingerprint("", found.drivers, site, std::move(beginning));
    return Host{std::make_shared<const std::vector<model::DriverStack>>(std::move(found.drivers)),
                std::move(found.findings),
                found.failure,
                detection.vendors,
                std::move(marks),
                std::nullopt};
}

} // namespace gpucontainer::detect

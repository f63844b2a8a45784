// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/options.hpp"
#include "drivers/vendor.hpp"
#include "host/driver_root.hpp"
#include "host/enumerator.hpp"

#include <memory>

namespace gpucontainer::detect {

/// What vendors look at on this host, as a detection says.
class HostSources {
public:
    /// `catalogue` is that of the site's files. Errors: with the argument that they are about.
    static Result<HostSources> open(const Detection& detection, search::SiteCatalogue catalogue);

    const drivers::Sources& get() const noexcept { return *sources_; }

private:
    HostSources() = default;

    // Each at a place of its own: the sources refer to them.
    std::unique_ptr<host::Enumerator> pci_;
    std::unique_ptr<host::DriverRoot> root_;
    std::unique_ptr<drivers::Sources> sources_;
};

} // namespace gpucontainer::detect

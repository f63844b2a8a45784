// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/registry.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::detect {

/// Which drivers are looked for, and where.
struct Detection {
    std::vector<std::string> vendors; ///< By name; each of them must be there.
    bool all_vendors = true;          ///< The others are looked for as well.
    std::string driver_root = "/";
    std::string driver_version; ///< Empty: ask the kernel.
    std::vector<std::string> catalogues;
    std::string catalogue_directory; ///< Empty: none.
    std::string dev_root;            ///< Empty: the usual one.
    bool files_alone = false;        ///< Of a vendor in `vendors` that has no GPU here.

    bool asks_for(std::string_view vendor) const;
};

/// What a detection found.
struct Detected {
    std::vector<model::DriverStack> drivers;
    /// Vendors that nobody asked for and that failed; the class of the first one.
    model::Findings findings;
    Errc failure = Errc::no_device;
};

/// What can be told to be wrong before anything is looked at; not yet whether there are
/// such vendors, which a site's files may describe. Errors: usage.
Result<void> check(const Detection& detection);

/// The files of a site that it names, and what vendors there are with them.
Result<drivers::Site> read_site(const Detection& detection);

/// The drivers of this host; an error where a vendor asked for has none, or is none.
Result<Detected> detect(const Detection& detection);
/// The same with a site's files that were read.
Result<Detected> detect(const Detection& detection, drivers::Site site);

/// Of recorded drivers, that no vendor of those asked for is missing, or without GPUs unless
/// that will do. Errors: no_device; usage, where neither the record nor a site's file has it.
Result<void> require_vendors(const Detection& detection,
                             const std::vector<model::DriverStack>& drivers);

/// Every source and node of recorded drivers is one that this host's own
/// detection yields as well; asked before anything of them is carried out. None
/// to do for drivers that were detected. Errors: driver, naming what is not.
Result<void> prove(const std::vector<model::DriverStack>& drivers,
                   const std::optional<Detection>& unproven);

} // namespace gpucontainer::detect

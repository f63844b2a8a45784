// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// Those that are built in.
std::span<const Vendor> vendors();

/// Null when there is none of that name.
const Vendor* find_vendor(std::string_view name);

/// A site's catalogue files, as search::read_site_catalogue() reads them, and the vendors
/// that there are with them: of two descriptions of one the later counts, and of one that
/// is built in none. Errors: also usage, where a file is about a vendor that is none.
struct Site {
    static Result<Site> read(const std::string& directory, const std::vector<std::string>& files);

    const Vendor* find(std::string_view name) const;

    search::SiteCatalogue catalogue;
    std::vector<Vendor> vendors; ///< Those described borrow from the catalogue's makers.

private:
    Result<void> describe(const search::NamedVendor& named);
};

/// Their names, for a hint.
std::string names_of(std::span<const Vendor> vendors);

} // namespace gpucontainer::drivers

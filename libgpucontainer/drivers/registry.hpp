// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// Those that are built in.
std::span<const Vendor> vendors();

/// Null when there is none of that name.
const Vendor* find_vendor(std::string_view name);

inline constexpr std::size_t most_described = 64;

/// A maker that a file of the site describes as if it were another one.
struct LeftOut {
    std::string vendor;
    std::string title;
    std::string path;   ///< Of the file.
    std::string reason; ///< With path and line.
};

/// A site's catalogue files, as search::read_site_catalogue() reads them, and the vendors
/// that there are with them: of two descriptions of one the later counts, and of one that
/// is built in none. Two makers that could be taken for each other are a mistake that no
/// file has alone: the one whose first description is read later is left out. Errors: also
/// usage, where a file is about a vendor that is none.
struct Site {
    static Result<Site> read(const std::string& directory, const std::vector<std::string>& files);

    const Vendor* find(std::string_view name) const;
    const LeftOut* find_left_out(std::string_view name) const;

    search::SiteCatalogue catalogue;
    std::vector<Vendor> vendors; ///< Those described borrow from the catalogue's makers.
    std::vector<LeftOut> left_out;

private:
    Result<std::vector<search::NamedVendor>> descriptions();
};

/// Their names, for a hint.
std::string names_of(std::span<const Vendor> vendors);

} // namespace gpucontainer::drivers

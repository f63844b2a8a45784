// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// The built-in vendors.
std::span<const Vendor> vendors();

/// Null if there is none of that name.
const Vendor* find_vendor(std::string_view name);

/// What a hook of a specification of CDI is for, if it is one of a vendor's. Errors: usage.
Result<std::optional<cdi::HookTask>> task_of(const cdi::Hook& hook);

inline constexpr std::size_t most_described = 64;

/// A maker of a site's file that could be confused with another one.
struct LeftOut {
    std::string vendor;
    std::string title;
    std::string path;   ///< Of the file.
    std::string reason; ///< With path and line.
};

/// A site's catalogue files, as search::read_site_catalogue() reads them, and all vendors: the
/// built-in ones, and those that the files describe. Of several descriptions of a maker, the last
/// one counts. Descriptions of built-in makers are ignored. If two makers could be confused, no
/// file alone is wrong; the maker whose first description is read later is left out. Errors: those
/// of reading; usage, if a file is about an unknown vendor.
struct Site {
    static Result<Site> read(const std::string& directory, const std::vector<std::string>& files);

    const Vendor* find(std::string_view name) const;
    const LeftOut* find_left_out(std::string_view name) const;

    search::SiteCatalogue catalogue;
    std::vector<Vendor> vendors; ///< Described ones borrow from the catalogue's makers.
    std::vector<LeftOut> left_out;

private:
    Result<std::vector<search::NamedVendor>> descriptions();
};

/// Their names, for a hint.
std::string names_of(std::span<const Vendor> vendors);

} // namespace gpucontainer::drivers

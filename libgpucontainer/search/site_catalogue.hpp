// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/catalogue_file.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// A file that lists names of one vendor's driver, without naming the vendor.
struct ListFile {
    std::string_view name; ///< Of the file: "nvliblist.conf".
    std::string_view vendor;
};

/// The vendor that a file names, so that names of unknown vendors are noticed.
struct NamedVendor {
    std::string vendor;
    std::string path;
    std::size_t line = 0;
    std::shared_ptr<const config::Maker> maker; ///< The file's description of it, or null.
};

/// A site's rules about the files of drivers. They override the built-in catalogues.
struct SiteCatalogue {
    std::vector<config::FileRule> rules; ///< In the order of reading: the last one counts.
    std::vector<config::FileRule> names; ///< From lists; they count if there is no rule.
    model::Findings findings;            ///< Entries of lists that are ignored.
    std::vector<NamedVendor> vendors;    ///< Of each file, in the order of reading.
};

/// Reads catalogue files: "*.yaml" and `lists` in `directory`, in the order of their names, then
/// `files`. The directory may be "" or missing; a missing file is an error. Files of the directory
/// must belong to root or the caller. Errors: usage, with file and line; permission.
Result<SiteCatalogue> read_site_catalogue(const std::string& directory,
                                          const std::vector<std::string>& files,
                                          std::span<const ListFile> lists);

/// The absolute paths of what read_site_catalogue() reads, for a fingerprint: the directory, all
/// that is in it, and the files. Call it after reading them.
std::vector<std::string> site_places(const std::string& directory,
                                     const std::vector<std::string>& files);

/// A built-in catalogue with the changes of a site's rules. It borrows from both.
class MergedCatalogue {
public:
    MergedCatalogue(std::string_view vendor, model::Catalogue built_in, const SiteCatalogue& site);

    /// For the search of the driver's own files.
    model::Catalogue of_driver() const noexcept { return driver_; }

    /// Files that the site adds, which need not be the driver's: libraries without its version, and
    /// tools that the built-in catalogue does not have.
    model::Catalogue of_site() const noexcept { return site_; }

    /// Both, for a user space without a driver's version.
    std::vector<model::CatalogueRule> all() const;

private:
    void add(const config::FileRule& given);
    void add_name(const config::FileRule& given);

    std::vector<model::CatalogueRule> driver_;
    std::vector<model::CatalogueRule> site_;
};

} // namespace gpucontainer::search

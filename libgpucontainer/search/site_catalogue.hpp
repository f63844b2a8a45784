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

/// A list of names that is of one vendor's driver, whose form says nothing of it.
struct ListFile {
    std::string_view name; ///< Of the file: "nvliblist.conf".
    std::string_view vendor;
};

/// Whose driver a file that was read is about, to be told from names that nobody has.
struct NamedVendor {
    std::string vendor;
    std::string path;
    std::size_t line = 0;
    std::shared_ptr<const config::Maker> maker; ///< Where the file describes it, else null.
};

/// What a site says about the files of drivers, over the built-in catalogues.
struct SiteCatalogue {
    std::vector<config::FileRule> rules; ///< In the order of reading: the last one counts.
    std::vector<config::FileRule> names; ///< Of lists; they count where no rule does.
    model::Findings findings;            ///< What a list names and no container is given.
    std::vector<NamedVendor> vendors;    ///< Of each file, in the order of reading.
};

/// Reads catalogue files, those of `directory` first: "*.yaml" in the order of
/// their names, and `lists`. An empty or missing directory holds none;
/// a missing file is an error. Files of the directory have to be root's or the
/// caller's. Errors: usage, with file and line; permission.
Result<SiteCatalogue> read_site_catalogue(const std::string& directory,
                                          const std::vector<std::string>& files,
                                          std::span<const ListFile> lists);

/// The places that this reads, as absolute paths, for a fingerprint: the directory
/// and all that is in it, then the files. To be asked after reading them.
std::vector<std::string> site_places(const std::string& directory,
                                     const std::vector<std::string>& files);

/// A built-in catalogue with a site's rules over it. Borrows from both.
class MergedCatalogue {
public:
    MergedCatalogue(std::string_view vendor, model::Catalogue built_in, const SiteCatalogue& site);

    /// For the search of the driver's own files.
    model::Catalogue of_driver() const noexcept { return driver_; }

    /// The site's files that need not be the driver's: libraries that do not have
    /// its version, and tools that the built-in catalogue does not know.
    model::Catalogue of_site() const noexcept { return site_; }

    /// Both, for user space that is of no driver's version.
    std::vector<model::CatalogueRule> all() const;

private:
    void add(const config::FileRule& given);
    void add_name(const config::FileRule& given);

    std::vector<model::CatalogueRule> driver_;
    std::vector<model::CatalogueRule> site_;
};

} // namespace gpucontainer::search

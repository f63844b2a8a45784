// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "host/driver_root.hpp"
#include "model/driver.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Whether it is a version of a driver: 300 or higher, with a dot. "4" and "1.1.13" are versions of
/// the library itself.
bool is_driver_version(std::string_view text);

/// What follows ".so." in a library's name; "" if nothing does.
std::string_view version_suffix(std::string_view file_name);

std::string join(const std::string& directory, const std::string& name);

/// Which libraries are searched for.
struct WantedLibraries {
    model::Catalogue catalogue;
    std::optional<std::string> version;
    bool is_of_module = false; ///< The version is the loaded kernel module's.
    bool compat32 = false;     ///< Those for 32-bit programs, which the root's machine must run.
};

/// The search for the libraries of one driver, for programs of one machine. Everything is reported
/// but files for other machines that lie where those of several may.
class LibrarySearch {
public:
    LibrarySearch(const host::DriverRoot& root, WantedLibraries wanted);

    struct Candidate {
        std::string path;
        bool from_cache;
    };
    /// What the loader cache has.
    std::vector<Candidate> candidates(const std::string& soname) const;

    /// Takes the library at `path` if it is the driver's and has the soname; else null.
    const model::DriverFile* take(const std::string& path, const std::string& soname);

    /// From now on, files must have this version.
    void use_version(std::string_view version) { version_ = version; }

    /// Adds a directory of the driver, in the driver root.
    void add_directory(std::string directory);

    /// Takes what is in the directories, what the loader cache has besides, and what lies beside
    /// that.
    void run();

    /// Takes the first library of the loader cache with the rule's soname, and adds its directory.
    void look_up(const model::CatalogueRule& rule);

    void scan_directories();

    /// Says which libraries of the catalogue are missing.
    void report_missing();

    bool has(const std::string& name) const { return names_.contains(name); }
    bool found_foreign() const { return is_foreign_; }

    std::vector<model::DriverFile> files;
    model::Findings findings;
    /// In the driver root; the main library's first.
    std::vector<std::string> directories;

private:
    void scan(const host::DriverRoot::Directory& directory);
    void scan_module_directories();
    bool is_part_of_driver(std::string_view name) const;
    const model::DriverFile* consider(const Result<host::DriverRoot::File>& opened,
                                      const std::string& path, const std::string& soname);
    bool lacks_version(const host::DriverRoot::File& file, const std::string& name) const;
    std::optional<std::string> other_version_of(const host::DriverRoot::File& file) const;
    std::string objection(const Result<elf::Facts>& facts, const std::string& soname) const;
    std::string name_without_soname(std::string_view path) const;
    /// Why the library cannot be taken; "" if it was.
    std::string add_library(const host::DriverRoot::File& opened, const elf::Facts& facts);
    /// Takes what the distribution built, as the loader finds it, or beside an unpacked driver.
    void look_up_neutral(const model::CatalogueRule& rule);
    void add_links();
    void add_needs();
    bool report_dangling(const model::CatalogueRule& rule, const std::string& soname);
    std::string loss(const Candidate& place) const;
    void skip(std::string name, const std::string& source, std::string reason,
              model::FindingCode code = model::FindingCode::file_unusable);

    const host::DriverRoot& root_;
    WantedLibraries wanted_;
    const elf::Machine* machine_; ///< Of the libraries that are wanted.
    /// A short list, because it is searched for each name of a directory.
    std::vector<model::CatalogueRule> unversioned_;
    std::string version_;     ///< Of the driver, once it is known.
    bool is_foreign_ = false; ///< Files for another machine were found.
    std::size_t scanned_ = 0; ///< Number of directories that were searched.
    std::set<std::string> development_names_;
    std::set<std::string> names_; ///< Sonames and names of the files taken.
    std::set<std::pair<dev_t, ino_t>> seen_;
};

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::search {

/// A user space that needs no particular version of the kernel module, with all that it is linked
/// to.
struct ClosedSet {
    /// Empty if it is not installed; `findings` say why.
    std::vector<model::DriverFile> files;
    model::Findings findings;
    std::string library_directory; ///< Of the first library's real file; "" if there is none.
};

/// Libraries and tools with what they are linked to, as the loader finds it: one file for each
/// soname. A library to which a RUNPATH or RPATH with $ORIGIN leads, in a directory below that of
/// the vendor's libraries, is another one than those of its soname elsewhere, and keeps its place.
class LibraryGraph {
public:
    /// Whether all that the catalogue names must be of one installation, that of the first library.
    enum class Installations : std::uint8_t { one, any };

    /// `directories` are searched last for what is needed.
    LibraryGraph(const host::DriverRoot& root, model::Catalogue catalogue,
                 std::vector<std::string> directories,
                 Installations installations = Installations::one);

    /// Adds the library at `path`, which is known as `name`, and what it needs. False if it is
    /// missing or cannot be used.
    bool add_library(const model::CatalogueRule& rule, const std::string& path,
                     const std::string& name);
    bool add_tool(const model::CatalogueRule& rule, const std::string& path);

    const Installation& installation() const noexcept { return installation_; }

    /// The directory of the first library that the catalogue names; "" if several installations
    /// count.
    const std::string& home() const noexcept { return home_; }

    /// The paths of a name in the loader cache, in its order.
    std::vector<std::string> cached(const std::string& name) const;
    const std::vector<std::string>& loader_directories();

    /// What was added and is complete, with all that it needs.
    ClosedSet take();

private:
    struct Need {
        std::string name;
        std::optional<std::size_t> object; ///< None: not found.
    };
    struct Object {
        model::DriverFile file;
        std::string directory;      ///< Where it was found: $ORIGIN.
        std::string real_directory; ///< Of its real file.
        elf::Facts facts;
        std::optional<std::size_t> loaded_by;
        std::vector<Need> needs;
        bool lacks_something = false;
        bool wanted = false;
        std::string place; ///< Of one that keeps it, below `home_`: "rocm_sysdeps/lib".
        std::vector<std::string> names = {}; ///< By which others need one with a place.
    };
    using FileKey = std::pair<dev_t, ino_t>;

    std::optional<std::size_t> load(const std::string& path, const std::string& name,
                                    std::optional<std::size_t> loaded_by,
                                    const model::CatalogueRule* rule);
    std::optional<Object> read_library(const std::string& path,
                                       const host::DriverRoot::File& opened,
                                       const std::string& name,
                                       std::optional<std::size_t> loaded_by,
                                       const model::CatalogueRule* rule);
    Object object_at(const std::string& path, const host::DriverRoot::File& opened,
                     elf::Facts facts) const;
    bool is_of_installation(const model::CatalogueRule& rule, const std::string& path) const;
    std::string objection_to(const elf::Facts& facts, const model::CatalogueRule* rule,
                             const std::string& name) const;
    std::size_t add(Object object, const model::CatalogueRule* rule, FileKey key);
    void load_needs(std::size_t first);
    std::optional<std::size_t> find(const std::string& name, std::size_t by);
    std::optional<std::size_t> find_new(const std::string& name, std::size_t by);
    enum class Entries : std::uint8_t { all, with_origin };
    std::vector<std::string> directories_for(std::size_t by, Entries entries = Entries::all) const;
    std::optional<std::size_t> find_in_place(const std::string& name, std::size_t by);
    std::optional<std::size_t> load_in_place(const std::string& directory, const std::string& place,
                                             const std::string& name, std::size_t by);
    bool has_place(const Object& object) const;
    const std::string& place_of(const std::string& directory);
    void object(const std::string& name, const std::string& path, std::string reason);

    void find_lacking();
    void want(std::size_t root);
    static const std::string& name_of(const Object& object);
    std::string lack_of(const Object& object) const;
    void describe(std::size_t index);
    void add_names(Object& object);
    static void add_names_in_place(Object& object);
    bool brings(const Object& object, const std::string& library) const;

    const host::DriverRoot& root_;
    model::Catalogue catalogue_;
    std::vector<std::string> directories_;
    Installations installations_;
    std::optional<std::vector<std::string>> loader_directories_;
    Installation installation_;
    std::string home_;
    std::map<std::string, std::string> places_; ///< Below it, by directories; "" if elsewhere.
    std::vector<Object> objects_;               ///< Each after the one that loads it.
    std::vector<std::size_t> roots_;
    std::map<std::string, std::size_t> by_name_; ///< By sonames, and by names that others need.
    std::map<FileKey, std::size_t> by_file_;
    std::map<std::string, model::Finding> objections_; ///< The first one about each name.
    std::set<std::string> taken_names_;
};

} // namespace gpucontainer::search

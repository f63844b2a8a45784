// SPDX-License-Identifier: MIT
#pragma once

#include "linking/linked.hpp"
#include "linking/search_path.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::linking {

/// One start of a program: the files that are loaded so far, and by which names.
class Session {
public:
    using Environment = std::map<std::string, std::string>;

    Session(Files& files, const Loader& loader, const Environment& environment);

    /// The first object. It must be there and good.
    void start(const std::string& path, Way way);
    /// Also those that variables and files preload.
    void preload();
    /// Loads all that is needed, breadth first.
    void load_needs();

    struct Result {
        std::optional<std::string> path; ///< None: it is not found.
        Way way = Way::path;
        std::vector<std::string> unfit = {}; ///< Files of the name for other machines.
    };
    /// Finds a library by its name or path, which the object at `by` needs. The file may be one
    /// that cannot be loaded.
    Result find(const std::string& name, std::size_t by);

    Linked take() { return std::move(linked_); }

private:
    struct Paths {
        std::vector<std::string> rpath; ///< Existing directories, like the next.
        std::vector<std::string> runpath;
        bool has_runpath = false;
    };

    std::optional<std::size_t> need(const std::string& name, std::size_t by);
    std::size_t add(const std::string& path, const std::string& name, Way way, std::size_t by);
    std::optional<std::size_t> loaded_as(const std::string& name) const;
    void lack(Lack lack, std::size_t by);
    /// Whether it was looked for in vain; `by` needs it too then.
    bool is_lacking(const std::string& name, std::size_t by);
    void lack_library(const std::string& name, const Result& found, std::size_t by);
    const Paths& paths_of(std::size_t object);

    Result find_for_glibc(const std::string& name, std::size_t by);
    Result find_for_musl(const std::string& name, std::size_t by);
    bool try_directories(const std::vector<std::string>& directories, const std::string& name,
                         Way way, Result& result);
    bool try_directory(const std::string& directory, const std::string& name, Way way,
                       Result& result);
    bool try_file(const std::string& path, Way way, Result& result);
    std::size_t place_of(const elf::CacheEntry& entry) const;
    /// Null if the loader takes none of them.
    const elf::CacheEntry* best_of(const std::vector<elf::CacheEntry>& entries) const;
    bool try_cache(const std::string& name, bool no_default_directories, Result& result);
    bool is_fit(const elf::Facts& facts) const;
    void preload_names(std::string_view names, std::string_view separators);

    Files& files_;
    const Loader& loader_;
    std::vector<std::string> variable_; ///< Directories of LD_LIBRARY_PATH.
    std::vector<std::string> defaults_;
    std::string preloaded_;
    Linked linked_;
    std::vector<const File*> object_files_;
    std::vector<std::optional<Paths>> paths_;
    std::map<std::string, std::size_t> by_name_;
    std::map<std::string, std::size_t> lack_of_; ///< Positions in `lacks`, by names of libraries.
    std::string library_path_;
};

} // namespace gpucontainer::linking

// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache.hpp"
#include "plan/extras.hpp"
#include "plan/names.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "plan/selection.hpp"
#include "rootfs/layout.hpp"

#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

inline constexpr const char* usual_tree = "/usr/lib/gpuctr";
inline constexpr const char* tool_directory = "/usr/bin";
inline constexpr const char* loader_cache_path = "/etc/ld.so.cache";

/// One driver's part of a draft.
struct Share {
    const model::DriverStack& driver;
    Selection selection;
    /// Of files that chosen ones need, besides what was asked for: video needs compute's nodes.
    std::set<model::Capability> also_needed = {};

    /// Whether the chosen GPUs need it for these capabilities and extras.
    bool needs(const model::DeviceNode& node, const std::set<model::Capability>& capabilities,
               const std::set<std::string>& extras) const;
};

/// The image's own user space of a newer driver.
struct CompatUse {
    std::string directory;               ///< That is used; "": none.
    std::vector<std::string> libraries;  ///< Names there that programs find before the host's.
    std::vector<rootfs::Entry> left_out; ///< Directories that are not used.
};

/// The host's toolkit that a container gets.
struct ToolkitUse {
    const drivers::Toolkit* toolkit = nullptr; ///< Null: none.
    const drivers::Toolkits* kind = nullptr;
    Owner owner = {};
    bool is_missing = false; ///< Its name has to be made.
    bool is_there = false;   ///< It is mounted already.
};

/// What of the host takes the place of the image's C library, and of its compiler's libraries.
struct RuntimeUse {
    struct Cover {
        const search::RuntimeFile* by = nullptr; ///< Null: nothing can be loaded there.
        std::string target;                      ///< A real path of the image.
    };
    std::vector<Cover> covers;
    std::vector<std::string> character_sets; ///< Real paths of the image's directories of them.
    std::deque<model::DriverFile> added;     ///< Parts of the C library that the image lacks.
    bool takes_c_library = false;
};

/// An unfinished plan: what it is made from, what is chosen so far, and its items so far. The parts
/// of the builder add to it in turn.
struct Draft {
    Draft(const Request& wanted, const Target* in, const elf::Machine& of_drivers);

    /// Adds a part of the tree, or something that is mounted over an existing name.
    void add(Item item) { plan.items.push_back(std::move(item)); }

    /// Adds a name that is_missing(), after what it needs.
    void add_name(Item item) { names.add(std::move(item), plan.items); }

    /// Leaves something out; `evidence` is a path as in a finding.
    void skip(model::FindingCode code, std::string object, std::string text, std::string evidence);

    /// Adds something else that the container must have: "a mounted /proc".
    void need(const std::string& what);

    /// Takes over from the request how mounts are secured.
    void secure_mounts();

    /// Adds something in which plans with the same identity agree.
    void identify(std::string_view text);
    void identify(const model::FileId& id);

    /// Whether the path is missing, or was made by another set-up. That may remove it, so an
    /// overlay gets its own name. The plan records what it found.
    bool is_missing(const std::string& path);

    /// Whether a missing name would be made in the host's own /dev, which a container may share:
    /// nobody would take it away, and it would be in the way of a node.
    bool is_in_hosts_devices(const std::string& path) const;

    /// The driver of one of the chosen files.
    Owner owner_of(const model::DriverFile& file) const;

    /// Where the image keeps such a library.
    const rootfs::Layout& layout_of(const model::DriverFile& file) const;
    /// Whether the image runs programs of this machine, and not its 32-bit ones alone. Call
    /// look_at_image() before.
    bool is_native() const { return !image.loader.empty(); }

    /// The directory of the tree for such a library, or for those of the driver if it is null.
    std::string tree_directory(const model::DriverFile* library) const;
    /// The path of a library or tool with this name in the container; that of a library in the
    /// directory that `beside` is in.
    std::string library_path(const std::string& name,
                             const model::DriverFile* beside = nullptr) const;
    std::string tool_path(const std::string& name) const;
    std::string path_of(const model::DriverFile& file) const;
    /// For a script: the chosen directory that it lies in, or null.
    const model::DriverFile* data_with(const model::DriverFile& script) const;
    /// The path at which data is read; null for other files, and for data beside libraries.
    static const std::string* data_path(const model::DriverFile& file)
    {
        return file.registered(model::Manner::fixed_path);
    }
    /// The directory beside libraries in which it is looked for; null for other files.
    static const std::string* place_beside(const model::DriverFile& file)
    {
        return file.registered(model::Manner::beside_libraries);
    }
    /// Whether the loader cache has it.
    static bool is_cached(const model::DriverFile& file)
    {
        return file.kind == model::FileKind::library
               && (place_beside(file) == nullptr
                   || file.registered(model::Manner::loader) != nullptr);
    }
    /// The name of a library in the directory of a loader of modules.
    std::string module_path(const model::DriverFile& library) const;
    /// The directory in which the image has such libraries or tools.
    std::string usual_directory(const model::DriverFile& file) const;

    /// Whether the missing directories above a path can be made.
    bool can_have(const std::string& path) const;

    /// Whether the files are for images that are not known.
    bool is_for_any_image() const { return plan.layout == Layout::binds; }

    /// Whether some of the files are libraries.
    bool has_libraries() const;

    /// Whether it is in our tree, or in one that an earlier set-up left.
    bool is_in_tree(const std::string& path) const;
    /// Whether it is a link into one.
    bool leads_into_tree(const std::string& path) const;

    /// Finds out where the image keeps libraries, and reads its loader cache. Only the first call
    /// does. A damaged cache counts as none. Errors: rootfs, if no program that uses our files can
    /// run, or the cache cannot be read. An image of 32-bit programs alone will do if 32-bit
    /// libraries were asked for.
    Result<void> look_at_image();

    const Request& request;
    const Target* target;
    const elf::Machine* machine; ///< That of the drivers' libraries.
    const rootfs::View& view;
    Names names;
    Plan plan;
    std::vector<Share> shares; ///< Of the drivers that are wanted.
    std::set<model::Capability> capabilities;
    Extras extras;                               ///< The request's and the container's.
    std::vector<const model::DriverFile*> files; ///< The chosen ones, which the drivers own.
    rootfs::Layout image; ///< Where it keeps libraries; empty before look_at_image().
    /// The same for 32-bit programs, if their libraries were asked for and the image runs them.
    std::optional<rootfs::Layout> image32;
    std::optional<elf::LdCache> image_cache;
    CompatUse compat;
    ToolkitUse toolkit;
    RuntimeUse runtime;
    bool cache_is_ours = false; ///< An earlier set-up made the loader cache.

private:
    bool is_anothers(const std::string& path, const rootfs::Entry& entry) const;

    bool image_is_known_ = false;
};

} // namespace gpucontainer::plan

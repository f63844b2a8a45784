// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache.hpp"
#include "plan/names.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "plan/selection.hpp"
#include "rootfs/layout.hpp"

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

    /// The GPUs that were chosen, and these capabilities, need it.
    bool needs(const model::DeviceNode& node,
               const std::set<model::Capability>& capabilities) const;
};

/// A plan in the making: what it is made from, what was chosen so far, and the
/// items that are there already. The parts of the builder add to it in turn.
struct Draft {
    Draft(const Request& wanted, const Target* in);

    /// Adds what is mounted over something that is there, or part of the tree.
    void add(Item item) { plan.items.push_back(std::move(item)); }

    /// Adds a name that is_missing(), and what it needs before it.
    void add_name(Item item) { names.add(std::move(item), plan.items); }

    /// Leaves something out; `evidence` is a path as in a finding.
    void skip(model::FindingCode code, std::string object, std::string text, std::string evidence);

    /// What the container must have besides: "a mounted /proc".
    void need(const std::string& what);

    /// What two plans have to agree about to be the same.
    void identify(std::string_view text);
    void identify(const model::FileId& id);

    /// Not there, or there as the work of another set-up, which may take it away:
    /// an overlay then has a name of its own. The plan keeps what is there.
    bool is_missing(const std::string& path);

    /// The driver that one of the chosen files is of.
    Owner owner_of(const model::DriverFile& file) const;

    /// Where a library, or a tool, of this name is in the container.
    std::string library_path(const std::string& name) const;
    std::string tool_path(const std::string& name) const;
    std::string path_of(const model::DriverFile& file) const;
    /// Of a script: the directory with it that was chosen; null where none was.
    const model::DriverFile* data_with(const model::DriverFile& script) const;
    /// Where data is read; null of other files.
    static const std::string* data_path(const model::DriverFile& file)
    {
        return file.registered(model::Manner::fixed_path);
    }
    /// Where the image has libraries or tools like it.
    std::string usual_directory(const model::DriverFile& file) const;

    /// Names can be made above the path, as far as they are not there.
    bool can_have(const std::string& path) const;

    /// Some of the files are for the loader.
    bool has_libraries() const;

    /// In a tree of ours, or one that an earlier set-up left.
    bool is_in_tree(const std::string& path) const;
    /// The name is a link into one.
    bool leads_into_tree(const std::string& path) const;

    /// Finds out where the image keeps libraries, and reads its loader cache, once.
    /// One that is damaged counts as none. Errors: rootfs, where no program that uses
    /// our files can run, or when the cache cannot be read.
    Result<void> look_at_image();

    const Request& request;
    const Target* target;
    const rootfs::View& view;
    Names names;
    Plan plan;
    std::vector<Share> shares; ///< Of the drivers that are wanted.
    std::set<model::Capability> capabilities;
    std::vector<const model::DriverFile*> files; ///< Those chosen; the drivers' own.
    rootfs::Layout image; ///< Where it keeps libraries; nothing without look_at_image().
    std::optional<elf::LdCache> image_cache;
    bool cache_is_ours = false; ///< The loader cache names our files already.

private:
    bool is_anothers(const std::string& path, const rootfs::Entry& entry) const;

    bool image_is_known_ = false;
};

} // namespace gpucontainer::plan

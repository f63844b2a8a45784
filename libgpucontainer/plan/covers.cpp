// SPDX-License-Identifier: MIT
#include "plan/covers.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/facts.hpp"

#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::FileKind;
using rootfs::EntryType;

class Covers {
public:
    explicit Covers(Draft& draft) : draft_(draft)
    {
        // An image has few of many names, so each directory is asked once for all.
        std::vector<std::string> names;
        for (const DriverFile* file : draft.files)
            names.push_back(file->soname);
        std::erase(names, "");
        std::set<std::string> directories(draft.image.searched_directories.begin(),
                                          draft.image.searched_directories.end());
        if (draft.image32)
            directories.insert(draft.image32->searched_directories.begin(),
                               draft.image32->searched_directories.end());
        for (const std::string& directory : directories)
            for (const std::string& name : draft.view.present(directory, names))
                present_.insert(base::format("{}/{}", directory, name));
    }

    void add(const DriverFile& file)
    {
        if (file.registered(model::Manner::script) != nullptr)
            return; // the image's own needs the modules beside it
        if (file.kind == FileKind::tool) {
            add(file, std::string(tool_directory) + "/" + file.name);
            return;
        }
        if (const std::string* const path = Draft::data_path(file);
            path != nullptr && !file.directory && file.precedence == model::Precedence::always)
            add(file, *path);
        if (Draft::place_beside(file) != nullptr) {
            if (draft_.plan.layout == Layout::merged)
                add(file, draft_.path_of(file));
            return; // what the image has elsewhere is for others
        }
        if (file.kind != FileKind::library || file.precedence == model::Precedence::image)
            return; // the image keeps its own copies of these
        if (file.registered(model::Manner::module_directory) != nullptr)
            add(file, draft_.usual_directory(file) + "/" + file.soname);
        if (file.registered(model::Manner::module_name) != nullptr)
            add(file, draft_.module_path(file));
        for (const std::string& directory : draft_.layout_of(file).searched_directories)
            if (const std::string target = directory + "/" + file.soname; present_.contains(target))
                add(file, target);
        if (draft_.plan.layout == Layout::merged)
            add(file, draft_.path_of(file));
    }

private:
    void add(const DriverFile& file, const std::string& target)
    {
        if (draft_.is_missing(target) || draft_.leads_into_tree(target) || is_in_tree(target))
            return;
        const rootfs::Entry entry = draft_.view.resolve(target);
        if (entry.type != EntryType::regular) {
            draft_.skip(model::FindingCode::file_left_out, std::string(base::name_of(target)),
                        "the image has this name, but it leads to no file that could be covered",
                        target);
            return;
        }
        if (entry.device == file.id.device && entry.inode == file.id.inode)
            return; // ours, in the tree or as a cover of an earlier set-up
        if (file.kind == FileKind::library && is_for_others(file, target))
            return;
        if (!covered_.insert(std::pair(entry.device, entry.inode)).second)
            return;
        draft_.add({Cover{file.path, file.id}, target,
                    "the image's own copy would be found instead", draft_.owner_of(file)});
    }

    /// Distributions that have 64-bit libraries in /usr/lib64 have the 32-bit ones in /usr/lib,
    /// where the others have 64-bit ones.
    bool is_for_others(const DriverFile& file, const std::string& target) const
    {
        const auto opened = draft_.view.open(target);
        if (!opened)
            return file.compat32;
        const auto facts = elf::read_facts(opened->get());
        if (!facts)
            return file.compat32;
        const elf::Machine* const other = elf::machine_for(*draft_.machine, !file.compat32);
        return other != nullptr && elf::is_for(*facts, *other);
    }

    /// The tree hides what the image has there.
    bool is_in_tree(const std::string& target) const
    {
        const std::string& tree = draft_.plan.tree_path;
        return !tree.empty() && base::is_below(target, tree);
    }

    Draft& draft_;
    std::set<std::string> present_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> covered_;
};

} // namespace

void add_covers(Draft& draft)
{
    Covers covers(draft);
    for (const DriverFile* file : draft.files)
        covers.add(*file);
}

} // namespace gpucontainer::plan

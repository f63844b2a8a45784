// SPDX-License-Identifier: MIT
#include "plan/compat.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "plan/image_libraries.hpp"
#include "requirement/expression.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gpucontainer::plan {
namespace {

using drivers::CompatLibrary;
using drivers::CompatVerdict;
using model::DriverFile;
using model::FindingCode;
using rootfs::Entry;
using rootfs::EntryType;

constexpr std::size_t most_directories = 16;
constexpr int most_links = 4;
constexpr const char* search_variable = "LD_LIBRARY_PATH";

/// A directory of the image with a user space of its own.
struct CompatPlace {
    std::string path;
    Entry entry;
    std::string problem; ///< Why nothing could load its library; maybe "".
    CompatVerdict verdict;
};

class CompatChoice {
public:
    CompatChoice(Draft& draft, const Share& share, const drivers::Compat& rules)
        : draft_(draft), share_(share), rules_(rules), searched_(searched_first(draft.request))
    {
    }

    void run()
    {
        const auto own = std::ranges::find_if(draft_.files, [&](const DriverFile* file) {
            return file->soname == rules_.library && !file->compat32
                   && draft_.owner_of(*file) == Owner{vendor(), -1};
        });
        const bool has_own = own != draft_.files.end();
        if (!has_own && draft_.request.compat != Compat::never)
            return;
        own_ = has_own ? *own : nullptr;
        find_places();
        if (places_.empty())
            return;
        const CompatPlace* const used = choose();
        for (const CompatPlace& place : places_)
            if (&place == used)
                use(place);
            else
                leave(place);
        if (has_own)
            warn_of_variable(used);
        draft_.identify(base::format("compat {}", static_cast<int>(draft_.request.compat)));
    }

private:
    const std::string& vendor() const { return share_.driver.vendor; }

    std::string library_in(const std::string& directory) const
    {
        return base::format("{}/{}", directory, rules_.library);
    }

    /// In the order in which programs would find them.
    void find_places()
    {
        const std::vector<std::string> usual = rules_.directories(share_.driver);
        const auto is_named_so = [&](std::string_view path) {
            return std::ranges::any_of(usual, [&](const std::string& one) {
                return base::name_of(one) == base::name_of(path);
            });
        };
        for (const std::string& path : searched_)
            if (is_named_so(path))
                add_place(path);
        if (draft_.image_cache)
            for (const elf::CacheEntry& entry :
                 draft_.image_cache->lookup(rules_.library, draft_.machine->cache_flags))
                if (const std::string_view path = base::directory_of(entry.value);
                    is_plain_path(path) && is_named_so(path))
                    add_place(std::string(path));
        for (const std::string& path : usual)
            add_place(path);
    }

    void add_place(const std::string& path)
    {
        if (places_.size() == most_directories)
            return;
        const Entry entry = draft_.view.resolve(path);
        const bool again = std::ranges::any_of(
            places_, [&](const CompatPlace& one) { return one.entry.same_file(entry); });
        if (entry.type != EntryType::directory || again)
            return;
        const std::string library = library_in(path);
        if (!draft_.view.look(library) || is_where_ours_goes(entry, library))
            return;
        CompatPlace place = {path, entry, "", {}};
        const CompatLibrary facts = read(library, path, place.problem);
        if (place.problem.empty())
            place.verdict = rules_.judge(share_.driver, chosen_gpus(), facts);
        places_.push_back(std::move(place));
    }

    /// Whether a link leads to what a set-up has made. Without it, such a directory would count
    /// only from the second plan on.
    bool is_where_ours_goes(const Entry& directory, const std::string& library) const
    {
        return draft_.leads_into_tree(library)
               || (own_ != nullptr
                   && draft_.view.resolve(std::string(base::directory_of(draft_.path_of(*own_))))
                          .same_file(directory));
    }

    std::vector<model::Gpu> chosen_gpus() const
    {
        std::vector<model::Gpu> gpus;
        for (const unsigned gpu : share_.selection.gpus)
            gpus.push_back(share_.driver.gpus[gpu]);
        return gpus;
    }

    /// Fills in `problem` if nothing could load it.
    CompatLibrary read(const std::string& path, const std::string& directory,
                       std::string& problem) const
    {
        CompatLibrary library = {directory, version_of(path), {}};
        const Entry entry = draft_.view.resolve(path);
        if (own_ != nullptr && is_ours(entry, *own_)) {
            problem = "the host's library covers it";
            return library;
        }
        const auto file = draft_.view.open(path);
        if (!file) {
            problem = base::format("its {} is no file that can be read", rules_.library);
            return library;
        }
        const auto facts = elf::read_facts(file->get());
        if (!facts || !elf::is_for(*facts, *draft_.machine) || facts->soname != rules_.library) {
            problem = base::format("its {} is no such library for this machine", rules_.library);
            return library;
        }
        auto notes = elf::read_notes(file->get(), rules_.note_owner);
        if (notes)
            library.notes = *std::move(notes);
        else
            problem = base::format("its {}: {}", rules_.library, notes.error().message());
        return library;
    }

    /// "575.57.08" of a link to libcuda.so.575.57.08; "" if there is none.
    std::string version_of(std::string path) const
    {
        const std::string stem(rules_.library.substr(0, rules_.library.find(".so") + 4));
        std::string version;
        for (int i = 0; i < most_links; ++i) {
            const std::string target = draft_.view.link_target(path);
            if (target.empty())
                break;
            const std::string_view name = base::name_of(target);
            if (name.starts_with(stem) && requirement::is_version(name.substr(stem.size())))
                version = name.substr(stem.size());
            path = target.starts_with('/')
                       ? target
                       : base::format("{}/{}", base::directory_of(path), target);
        }
        return version;
    }

    const CompatPlace* choose() const
    {
        if (draft_.request.compat == Compat::never)
            return nullptr;
        const auto fits = [](const CompatPlace& one) {
            return one.problem.empty() && one.verdict.objection.empty();
        };
        auto found = std::ranges::find_if(places_, fits);
        if (found == places_.end() && draft_.request.compat == Compat::always)
            found = std::ranges::find(places_, "", &CompatPlace::problem);
        return found == places_.end() ? nullptr : &*found;
    }

    void use(const CompatPlace& place)
    {
        const std::string& title = place.verdict.title;
        if (place.verdict.objection.empty())
            draft_.plan.findings.push_back(
                {FindingCode::compat_decided, place.path,
                 base::format("programs find the image's {}{}{}{}, which is newer than the host's",
                              rules_.library, title.empty() ? "" : " (", title,
                              title.empty() ? "" : ")"),
                 library_in(place.path)});
        else
            draft_.plan.findings.push_back(
                {FindingCode::compat_forced, place.path,
                 base::format("programs find the image's {}, as asked for, and it may fail: {}",
                              rules_.library, place.verdict.objection),
                 library_in(place.path)});
        std::erase_if(draft_.image.searched_directories, [&](const std::string& directory) {
            return draft_.view.resolve(directory).same_file(place.entry);
        });
        draft_.compat.directory = place.path;
        draft_.compat.libraries = libraries_in(place);
        draft_.identify(place.path);
    }

    std::vector<std::string> libraries_in(const CompatPlace& place) const
    {
        std::vector<std::string> names = {std::string(rules_.library)};
        for (const std::string_view name : rules_.libraries)
            names.push_back(
                model::with_version(std::string(name), version_of(library_in(place.path))));
        for (const DriverFile& file : share_.driver.files)
            if (file.kind == model::FileKind::library && !file.soname.empty())
                names.push_back(file.soname);
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        names = draft_.view.present(place.path, names);
        std::erase_if(names, [&](const std::string& name) {
            return draft_.view.resolve(base::format("{}/{}", place.path, name)).type
                   != EntryType::regular;
        });
        return names;
    }

    /// The host's libraries cover those there, and the cache does not name them.
    void leave(const CompatPlace& place)
    {
        const bool never = draft_.request.compat == Compat::never;
        const std::string reason = never                    ? "not used, as asked for"
                                   : !place.problem.empty() ? "not used: " + place.problem
                                   : !place.verdict.objection.empty()
                                       ? "not used: " + place.verdict.objection
                                       : "not used: another directory comes first";
        draft_.plan.findings.push_back(
            {FindingCode::compat_decided, place.path, reason, library_in(place.path)});
        auto& searched = draft_.image.searched_directories;
        if (std::ranges::none_of(searched, [&](const std::string& directory) {
                return draft_.view.resolve(directory).same_file(place.entry);
            }))
            searched.push_back(place.path);
        draft_.compat.left_out.push_back(place.entry);
    }

    /// Whether programs find the host's library there.
    bool has_hosts(const std::string& directory) const
    {
        if (draft_.is_in_tree(directory) || draft_.leads_into_tree(library_in(directory))
            || base::is_below(directory, share_.driver.tree_link))
            return true;
        const Entry entry = draft_.view.resolve(directory);
        return std::ranges::any_of(draft_.image.searched_directories,
                                   [&](const std::string& covered) {
                                       return draft_.view.resolve(covered).same_file(entry);
                                   });
    }

    /// Programs look there before they ask the cache.
    void warn_of_variable(const CompatPlace* used)
    {
        for (const std::string& directory : searched_) {
            const Entry entry = draft_.view.resolve(directory);
            if (used != nullptr && entry.same_file(used->entry))
                return;
            if (!draft_.view.resolve(library_in(directory)) && !draft_.is_in_tree(directory))
                continue;
            const bool hosts = has_hosts(directory);
            if (hosts && used == nullptr)
                return;
            draft_.plan.findings.push_back(
                {FindingCode::search_differs, search_variable,
                 base::format("has {}, where programs find {} {} before {}", directory,
                              hosts ? "the host's" : "another", rules_.library,
                              used != nullptr ? "that in " + used->path : "the host's"),
                 library_in(directory),
                 base::format("remove {} from {} of the container", directory, search_variable)});
            return;
        }
    }

    Draft& draft_;
    const Share& share_;
    const drivers::Compat& rules_;
    std::vector<std::string> searched_;
    std::vector<CompatPlace> places_;
    const DriverFile* own_ = nullptr; ///< The host's library.
};

} // namespace

void choose_compat(Draft& draft)
{
    for (const Share& share : draft.shares) {
        const drivers::Vendor* const vendor = drivers::find_vendor(share.driver.vendor);
        if (vendor != nullptr && vendor->compat != nullptr)
            CompatChoice(draft, share, *vendor->compat).run();
    }
}

} // namespace gpucontainer::plan

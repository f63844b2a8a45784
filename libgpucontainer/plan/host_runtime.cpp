// SPDX-License-Identifier: MIT
#include "plan/host_runtime.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "plan/runtime_fit.hpp"
#include "rootfs/real_path.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::FindingCode;
using model::VersionNeed;
using search::CLibraryPart;
using search::HostCLibrary;
using search::RuntimeFile;

constexpr const char* character_set_variable = "GCONV_PATH";
constexpr std::string_view sets_directory = "gconv";
constexpr const char* of_unit = "a part of the host's C library, which is used as a whole";

/// A version that the image's library does not have.
struct Lack {
    std::string who;
    VersionNeed need;
};

class RuntimeDecision {
public:
    explicit RuntimeDecision(Draft& draft) : draft_(draft), fit_(draft) {}

    Result<void> run()
    {
        GPUCTR_CHECK(draft_.look_at_image());
        if (!draft_.is_native())
            return {}; // it runs 32-bit programs alone
        find_lacks();
        const bool takes =
            fit_.is_hosts_already() || (!of_c_library_.empty() && fit_.objection().empty());
        if (takes)
            take_c_library();
        else
            report_unused();
        if (takes || !of_compiler_.empty())
            take_libraries_of_compiler(takes);
        return {};
    }

private:
    const HostCLibrary& host() const { return draft_.request.glibc.host->c_library; }

    void find_lacks()
    {
        for (const DriverFile* file : draft_.files)
            if (!file->compat32)
                for (const VersionNeed& need : draft_.request.glibc.host->needs_of(*file))
                    look_for(file->soname.empty() ? file->name : file->soname, need);
        // What meets a need may itself need a newer C library.
        for (const Lack& lack : std::vector<Lack>(of_compiler_))
            for (const std::string& copy : fit_.image().copies_of(lack.need.library))
                if (const RuntimeFile* const newer = fit_.newer(lack.need.library, copy))
                    for (const VersionNeed& need : newer->needs)
                        look_for(newer->soname, need);
    }

    void look_for(const std::string& who, const VersionNeed& need)
    {
        const bool is_of_c_library = need.library == search::c_library;
        if (!is_of_c_library && !search::is_of_compiler(need.library))
            return;
        DriverFile wanted;
        wanted.soname = need.library;
        const std::string path = is_of_c_library ? fit_.library() : fit_.image().find(wanted);
        if (path.empty() || comes(need.library))
            return;
        const auto versions = fit_.image().versions_of(path);
        if (versions && !search::is_met(need, *versions))
            (is_of_c_library ? of_c_library_ : of_compiler_).push_back({who, need});
    }

    /// Whether a driver's files have it.
    bool comes(const std::string& soname) const
    {
        return std::ranges::any_of(draft_.files, [&](const DriverFile* file) {
            return file->soname == soname && !file->compat32;
        });
    }

    void take_c_library()
    {
        RuntimeUse& use = draft_.runtime;
        use.takes_c_library = true;
        draft_.identify(base::format("C library {}", host().release));
        for (const RuntimeFile& file : host().files)
            take(file);
        for (const CLibraryPart& part : search::parts_of_c_library())
            if (host().find(part.soname) == nullptr)
                hide(part);
        take_character_sets();
        const std::string why = of_c_library_.empty()
                                    ? "as it is already"
                                    : base::format("{} needs {}", of_c_library_.front().who,
                                                   of_c_library_.front().need.version);
        draft_.plan.findings.push_back(
            {FindingCode::c_library_decided, "the host's C library",
             base::format("takes the place of the image's ({}): {}", host().release, why),
             fit_.library()});
    }

    void take(const RuntimeFile& file)
    {
        draft_.identify(file.path);
        draft_.identify(file.id);
        auto copies = fit_.image().copies_of(file.soname);
        if (&file == &host().files.front()
            && std::ranges::find(copies, fit_.loader()) == copies.end())
            copies.push_back(fit_.loader());
        for (const std::string& copy : copies)
            if (!is_file(draft_.view.look(copy), file.id))
                cover(&file, copy);
        if (copies.empty() && !is_loaded_by_name(file.soname))
            add_missing(file);
    }

    static bool is_loaded_by_name(std::string_view soname)
    {
        const auto parts = search::parts_of_c_library();
        const auto part = std::ranges::find(parts, soname, &CLibraryPart::soname);
        return part != parts.end() && part->kind == CLibraryPart::Kind::by_name;
    }

    /// Several names of a hostile image may lead to the same file.
    void cover(const RuntimeFile* by, const std::string& target)
    {
        auto& covers = draft_.runtime.covers;
        if (std::ranges::find(covers, target, &RuntimeUse::Cover::target) == covers.end())
            covers.push_back({by, target});
    }

    /// The driver's files, or others of the C library, may need it.
    void add_missing(const RuntimeFile& file)
    {
        DriverFile added;
        added.name = base::name_of(file.path);
        added.soname = file.soname;
        added.path = file.path;
        if (added.name != added.soname)
            added.links = {added.soname};
        added.reason = of_unit;
        added.id = file.id;
        added.registrations = {{model::Manner::loader}};
        added.precedence = model::Precedence::image;
        if (comes(added.soname))
            return;
        draft_.runtime.added.push_back(std::move(added));
        draft_.files.push_back(&draft_.runtime.added.back());
    }

    /// The image's own file fits its own C library only.
    void hide(const CLibraryPart& part)
    {
        for (const std::string& copy : fit_.image().copies_of(std::string(part.soname))) {
            if (!is_bound_to_build(draft_, copy))
                continue;
            cover(nullptr, copy);
            const bool is_linked = part.kind != CLibraryPart::Kind::by_name;
            draft_.plan.findings.push_back(
                {is_linked ? FindingCode::c_library_unfit : FindingCode::file_left_out,
                 std::string(part.soname),
                 is_linked ? "programs that are linked to it do not start: the image's goes with "
                             "no other C library than the image's, and the host has none"
                           : "the image's is hidden: it goes with no other C library than the "
                             "image's, and the host has none",
                 copy, is_linked ? "install it on the host" : ""});
        }
    }

    /// The C library looks in the directory that was compiled into it, and first in those of a
    /// variable, which setuid programs ignore. So none of the image's is left.
    void take_character_sets()
    {
        if (host().gconv.empty())
            return;
        draft_.identify(host().gconv_id);
        std::vector<std::string> directories = draft_.image.searched_directories;
        directories.insert(directories.begin(), draft_.image.library_directory);
        directories.push_back(host().home);
        for (const std::string& directory : directories) {
            const std::string real =
                rootfs::real_path(draft_.view, base::format("{}/{}", directory, sets_directory))
                    .value_or("");
            auto& taken = draft_.runtime.character_sets;
            if (is_of_character_sets(real) && std::ranges::find(taken, real) == taken.end())
                taken.push_back(real);
        }
    }

    /// A link of the image may lead anywhere, such as to the root directory.
    bool is_of_character_sets(const std::string& real) const
    {
        const auto is_in = [&](const char* top) { return base::is_below(real, top); };
        return is_plain_path(real) && base::name_of(real) == sets_directory
               && draft_.view.look(real).type == rootfs::EntryType::directory && !is_in("/proc")
               && !is_in("/sys") && !is_in("/dev") && !draft_.is_in_tree(real);
    }

    void report_unused()
    {
        if (of_c_library_.empty()) {
            draft_.skip(FindingCode::c_library_decided, "the host's C library",
                        "not used: nothing that the container gets needs it", "");
            return;
        }
        const Lack& lack = of_c_library_.front();
        draft_.plan.findings.push_back({FindingCode::c_library_unfit, "the host's C library",
                                        base::format("not used, although {} needs {}: {}", lack.who,
                                                     lack.need.version, fit_.objection()),
                                        fit_.library(), "use an image as new as the host"});
    }

    void take_libraries_of_compiler(bool with_c_library)
    {
        for (const RuntimeFile& file : draft_.request.glibc.host->compiler)
            for (const std::string& copy : fit_.image().copies_of(file.soname)) {
                const bool is_there = is_file(draft_.view.look(copy), file.id);
                if (!is_there
                    && (fit_.newer(file.soname, copy) == nullptr || !can_run(file, with_c_library)))
                    continue;
                draft_.identify(file.path);
                draft_.identify(file.id);
                if (!is_there)
                    cover(&file, copy);
            }
    }

    bool can_run(const RuntimeFile& file, bool with_c_library) const
    {
        const auto versions = fit_.image().versions_of(fit_.library());
        const RuntimeFile* const hosts = host().find(search::c_library);
        return std::ranges::all_of(file.needs, [&](const VersionNeed& need) {
            return need.library != search::c_library
                   || (versions && search::is_met(need, *versions))
                   || (with_c_library && hosts != nullptr && search::is_met(need, hosts->versions));
        });
    }

    Draft& draft_;
    RuntimeFit fit_;
    std::vector<Lack> of_c_library_;
    std::vector<Lack> of_compiler_;
};

} // namespace

Result<void> choose_host_runtime(Draft& draft)
{
    if (!draft.request.glibc.host)
        return {};
    if (draft.files.empty() || draft.target == nullptr) {
        draft.skip(FindingCode::c_library_decided, "the host's C library",
                   draft.target == nullptr ? "not used: there is no image that it could be for"
                                           : "not used: nothing that the container gets needs it",
                   "");
        return {};
    }
    return RuntimeDecision(draft).run();
}

void add_host_runtime(Draft& draft)
{
    const RuntimeUse& use = draft.runtime;
    for (const auto& [by, target] : use.covers)
        draft.add(by != nullptr
                      ? Item{Cover{by->path, by->id}, target,
                             search::is_of_compiler(by->soname)
                                 ? "newer than the image's own, which programs would find instead"
                                 : of_unit}
                      : Item{GeneratedCover{}, target,
                             "the image's own goes with no other C library than the image's"});
    if (!use.takes_c_library || draft.request.glibc.host->c_library.gconv.empty())
        return;
    const HostCLibrary& host = draft.request.glibc.host->c_library;
    const Bind bind = {host.gconv, host.gconv_id, true};
    const char* const reason = "the character sets of the host's C library";
    for (const std::string& directory : use.character_sets)
        if (!is_file(draft.view.look(directory), host.gconv_id))
            draft.add({bind, directory, reason});
    std::string place = use.character_sets.empty() ? "" : use.character_sets.front();
    if (place.empty() && draft.plan.layout == Layout::tree) {
        place = base::format("{}/{}/gconv", draft.plan.tree_path, distribution_directory);
        Item item = {bind, place, reason};
        item.place = Place::tree;
        draft.add(std::move(item));
    }
    if (!place.empty())
        draft.plan.variables.push_back({"set", character_set_variable, place});
}

} // namespace gpucontainer::plan

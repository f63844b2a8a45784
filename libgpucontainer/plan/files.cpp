// SPDX-License-Identifier: MIT
#include "plan/files.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "plan/compat32.hpp"
#include "plan/image_libraries.hpp"
#include "plan/runtime_fit.hpp"
#include "plan/wanted.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::FileKind;
using model::Manner;
using model::Precedence;

bool is_script(const DriverFile& file) { return file.registered(Manner::script) != nullptr; }

/// The file's name in messages.
const std::string& name_of(const DriverFile& file)
{
    return file.soname.empty() ? file.name : file.soname;
}

/// Whether the host's C library, or what comes with its compiler, could meet it.
bool is_of_runtime(const model::VersionNeed& need)
{
    return need.library == search::c_library || search::is_of_compiler(need.library);
}

/// Not "" if another driver has the same file, or another one of that name: in the container, both
/// would have the same name.
std::string_view objection(std::span<const DriverFile* const> others, const DriverFile& file)
{
    for (const DriverFile* other : others) {
        const std::string* const place = Draft::place_beside(file);
        const std::string* const others_place = Draft::place_beside(*other);
        const bool same_name =
            (other->name == file.name || (!file.soname.empty() && other->soname == file.soname))
            && (place == nullptr ? others_place == nullptr
                                 : others_place != nullptr && *place == *others_place);
        if (same_name && other->kind == file.kind && other->compat32 == file.compat32)
            return other->path == file.path ? "another driver brings the same file"
                                            : "another driver brings a file of this name";
    }
    return "";
}

/// The choice among one driver's files.
class Choice {
public:
    Choice(Draft& draft, Share& share)
        : draft_(draft), share_(share), driver_(share.driver), fit_(draft),
          reasons_(driver_.files.size())
    {
    }

    Result<void> run()
    {
        choose_by_capability();
        if (!driver_.optional_files)
            GPUCTR_CHECK(choose_own());
        else if (is_any_chosen())
            GPUCTR_CHECK(fit_parts());
        // Other images either run programs of this machine, or are refused.
        if (is_any_chosen() && draft_.capabilities.contains(Capability::compat32)) {
            GPUCTR_CHECK(draft_.look_at_image());
            for (std::size_t i = 0; i < reasons_.size(); ++i)
                if (is_chosen(i))
                    reasons_[i] = objection_of_image(draft_, driver_.files[i]);
        }
        take();
        return {};
    }

private:
    /// For a driver whose files are of the kernel module's version.
    Result<void> choose_own()
    {
        choose_needed([&](const DriverFile& file) {
            // No container gets it, whatever would load it: a site may say so.
            if (file.capability == Capability::none || file.precedence == Precedence::image)
                return objection_of_request(draft_, driver_, file);
            share_.also_needed.insert(file.capability);
            return std::string();
        });
        std::set<std::size_t> seen;
        for (std::size_t i = 0; i < reasons_.size(); ++i) {
            if (!is_neutral(i) || seen.contains(i))
                continue;
            const auto parts = of_one_build(i);
            seen.insert(parts.begin(), parts.end());
            GPUCTR_CHECK(fit_build(parts));
        }
        return {};
    }

    /// Two libraries may have the soname that is needed, one of them beside the others.
    static bool needs(const DriverFile& file, const DriverFile& other)
    {
        return other.kind == FileKind::library && file.compat32 == other.compat32
               && std::ranges::find(file.needed, other.soname) != file.needed.end();
    }

    bool is_neutral(std::size_t index) const
    {
        return is_chosen(index) && driver_.files[index].precedence == Precedence::image;
    }

    Result<void> fit_build(const std::vector<std::size_t>& parts)
    {
        GPUCTR_TRY(const std::string reason, objection_to_build(parts));
        if (reason.empty())
            leave_out_lacking(parts);
        else
            for (const std::size_t part : parts)
                if (is_chosen(part))
                    reasons_[part] = reason;
        return {};
    }

    /// Leaves out libraries that could not be loaded, and those that need them.
    void leave_out_lacking(const std::vector<std::size_t>& parts)
    {
        const ImageLibraries image(draft_);
        for (bool again = true; std::exchange(again, false);)
            for (const std::size_t part : parts)
                if (is_chosen(part)) {
                    reasons_[part] = objection_to_needs(image, driver_.files[part]);
                    again = again || !is_chosen(part);
                }
    }

    std::string objection_to_needs(const ImageLibraries& image, const DriverFile& file) const
    {
        for (const std::string& soname : file.needed) {
            bool is_known = false;
            bool comes = false;
            for (std::size_t i = 0; i < reasons_.size(); ++i)
                if (const DriverFile& ours = driver_.files[i];
                    ours.soname == soname && ours.compat32 == file.compat32) {
                    is_known = true;
                    comes = comes || is_chosen(i);
                }
            if (comes || is_in(image, soname, file.compat32))
                continue;
            return base::format("needs {}, which {}", soname,
                                is_known ? "is left out" : "the image does not have");
        }
        return "";
    }

    static bool is_in(const ImageLibraries& image, const std::string& soname, bool compat32)
    {
        DriverFile wanted;
        wanted.soname = soname;
        wanted.compat32 = compat32;
        return !image.find(wanted).empty();
    }

    /// A library that the distribution built, and those that need each other with it.
    std::vector<std::size_t> of_one_build(std::size_t first) const
    {
        std::vector<std::size_t> parts = {first};
        for (std::size_t at = 0; at < parts.size(); ++at)
            for (std::size_t i = 0; i < driver_.files.size(); ++i) {
                const DriverFile& file = driver_.files[i];
                const DriverFile& part = driver_.files[parts[at]];
                if (file.precedence == Precedence::image && file.compat32 == part.compat32
                    && (needs(file, part) || needs(part, file))
                    && std::ranges::find(parts, i) == parts.end())
                    parts.push_back(i);
            }
        return parts;
    }

    /// Such libraries come only if the image has none of them, because its own would not fit them.
    Result<std::string> objection_to_build(const std::vector<std::size_t>& parts) const
    {
        if (draft_.target == nullptr)
            return std::string("comes only to an image that has none of its own");
        GPUCTR_CHECK(draft_.look_at_image());
        const ImageLibraries image(draft_);
        for (const std::size_t i : parts)
            if (const std::string own = image.find(driver_.files[i]); !own.empty())
                return base::format("the image has its own: {}", own);
        if (!is_in(image, search::c_library, driver_.files[parts.front()].compat32))
            return std::string("the image's C library is not found");
        for (const std::size_t i : parts)
            for (const model::VersionNeed& need : driver_.files[i].versions)
                if (auto fits = check(image, driver_.files[i], need); !fits)
                    return fits.error().message();
        return std::string();
    }

    // A file without a reason against it is chosen.
    bool is_chosen(std::size_t index) const { return reasons_[index].empty(); }
    bool is_any_chosen() const { return std::ranges::find(reasons_, "") != reasons_.end(); }

    void choose_by_capability()
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            reasons_[i] = objection_of_request(draft_, driver_, driver_.files[i]);
    }

    /// Files for computing and files for pictures are fitted to the image separately: one that
    /// brings its own video driver, or is too old for the host's, can compute all the same.
    Result<void> fit_parts()
    {
        const std::vector<std::string> asked = reasons_;
        std::vector<std::string> fitted = asked;
        std::vector<bool> taken(asked.size());
        bool is_main = true; // the part that a failure to fit is worth a warning for
        for (const bool computing : {true, false}) {
            reasons_ = asked;
            leave_to_other_part(computing);
            if (!is_any_chosen())
                continue;
            GPUCTR_CHECK(fit_or_leave_out(std::exchange(is_main, false)));
            for (std::size_t i = 0; i < reasons_.size(); ++i) {
                taken[i] = taken[i] || is_chosen(i);
                if (taken[i])
                    fitted[i].clear();
                else if (reasons_[i] != of_other_part && reasons_[i] != asked[i])
                    fitted[i] = reasons_[i];
            }
        }
        reasons_ = std::move(fitted);
        return {};
    }

    void leave_to_other_part(bool computing)
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (is_chosen(i) && !is_of_part(driver_.files[i], computing))
                reasons_[i] = of_other_part;
    }

    bool is_of_part(const DriverFile& file, bool computing) const
    {
        constexpr std::array for_computing = {Capability::compute, Capability::utility};
        return std::ranges::any_of(std::array{file.capability, file.also}, [&](Capability one) {
            const bool computes = std::ranges::find(for_computing, one) != for_computing.end();
            return draft_.capabilities.contains(one) && computes == computing;
        });
    }

    Result<void> fit_or_leave_out(bool warn)
    {
        auto fits = fit_to_image();
        if (fits)
            return {};
        if (draft_.request.vendor_libs == VendorLibs::host)
            return std::move(fits).error().context(
                base::format("files of the {} driver", driver_.vendor_name));
        leave_out(fits.error().message());
        if (warn)
            draft_.plan.findings.push_back(
                {model::FindingCode::files_left_out,
                 base::format("the host's {} files", driver_.vendor_name),
                 "left out: " + fits.error().message(), fits.error().object(),
                 fits.error().hint()});
        return {};
    }

    Result<void> fit_to_image()
    {
        GPUCTR_CHECK(draft_.look_at_image());
        const ImageLibraries image(draft_);
        if (draft_.request.vendor_libs != VendorLibs::host)
            if (const std::string own = find_own_runtime(image); !own.empty()) {
                leave_out(base::format("the image brings its own: {}", own));
                return {};
            }
        choose_needed([&](const DriverFile& file) { return objection_to_needed(image, file); });
        return check_versions(image);
    }

    std::string find_own_runtime(const ImageLibraries& image) const
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (const DriverFile& file = driver_.files[i];
                is_chosen(i) && file.precedence == Precedence::runtime)
                if (std::string path = image.find_anywhere(file); !path.empty())
                    return path;
        return "";
    }

    /// Also chooses what chosen files need, except neutral libraries that the image has.
    template <typename Objection>
    void choose_needed(Objection objection_to_needed)
    {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (is_chosen(i))
                open.push_back(i);
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            for (std::size_t i = 0; i < reasons_.size(); ++i) {
                if (is_chosen(i) || !needs(driver_.files[at], driver_.files[i]))
                    continue;
                reasons_[i] = objection_to_needed(driver_.files[i]);
                if (is_chosen(i))
                    open.push_back(i);
            }
        }
    }

    std::string objection_to_needed(const ImageLibraries& image, const DriverFile& file) const
    {
        if (file.precedence != Precedence::image)
            return "";
        if (draft_.is_for_any_image()) {
            need(name_of(file));
            return "an image's own would be covered";
        }
        const std::string path = fit_.is_wanted() && search::is_of_compiler(file.soname)
                                     ? find_also_covered(image, file)
                                     : image.find(file);
        return path.empty() ? "" : base::format("the image has its own: {}", path);
    }

    /// What an earlier set-up put over the image's own is the host's file.
    static std::string find_also_covered(const ImageLibraries& image, const DriverFile& file)
    {
        DriverFile wanted;
        wanted.soname = file.soname;
        wanted.compat32 = file.compat32;
        return image.find(wanted);
    }

    /// Several files may need the same library.
    void need(const std::string& library) const
    {
        const auto& findings = draft_.plan.findings;
        const std::string text = base::format("{} of its own", library);
        if (std::ranges::find(findings, text, &model::Finding::text) == findings.end())
            draft_.need(text);
    }

    Result<void> check_versions(const ImageLibraries& image) const
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (is_chosen(i))
                for (const model::VersionNeed& need : driver_.files[i].versions)
                    GPUCTR_CHECK(check(image, driver_.files[i], need));
        return {};
    }

    Result<void> check(const ImageLibraries& image, const DriverFile& file,
                       const model::VersionNeed& need) const
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (const DriverFile& ours = driver_.files[i];
                is_chosen(i) && ours.soname == need.library && ours.compat32 == file.compat32)
                return {};
        DriverFile wanted;
        wanted.soname = need.library;
        wanted.compat32 = file.compat32;
        const std::string path = image.find(wanted);
        if (path.empty())
            return {}; // nobody knows what its programs will load
        GPUCTR_TRY(const auto versions, image.versions_of(path));
        // 32-bit programs have a C library of their own.
        const bool may_be_hosts = !file.compat32;
        if (search::is_met(need, versions) || (may_be_hosts && fit_.meets(need, path)))
            return {};
        const std::string newest = search::newest_of_kind(need, versions);
        return Error(Errc::requirement,
                     base::format(
                         "{} needs {}, but the image's {} has {}{}", name_of(file), need.version,
                         path, newest.empty() ? "no such version" : "nothing newer than " + newest,
                         may_be_hosts ? fit_.remark(need) : ""))
            .with_object(path)
            .with_hint(base::format(
                "{}use an image as new as the host, or one with its own runtime; "
                "--vendor-libs none gives the container only the device nodes",
                may_be_hosts && !fit_.is_wanted() && is_of_runtime(need)
                    ? "--glibc auto has programs of the container use the host's C library; or "
                    : ""));
    }

    void leave_out(const std::string& reason)
    {
        for (std::size_t i = 0; i < reasons_.size(); ++i)
            if (is_chosen(i) && driver_.files[i].precedence != Precedence::always)
                reasons_[i] = reason;
    }

    void take()
    {
        const std::vector<const DriverFile*> others = draft_.files;
        for (const bool scripts : {false, true}) // scripts last, because they need their data
            for (std::size_t i = 0; i < reasons_.size(); ++i)
                if (is_script(driver_.files[i]) == scripts)
                    take(i, others);
    }

    void take(std::size_t index, std::span<const DriverFile* const> others)
    {
        const DriverFile& file = driver_.files[index];
        std::string& reason = reasons_[index];
        if (reason.empty())
            reason = objection(others, file);
        if (reason.empty() && file.kind == FileKind::data && has_place_of(file))
            reason = "other data of this name is taken";
        if (reason.empty() && is_script(file) && draft_.data_with(file) == nullptr)
            reason = "the directory that it lies in is left out";
        if (reason.empty())
            draft_.files.push_back(&file);
        else
            draft_.skip(model::FindingCode::file_left_out, file.name, std::move(reason), file.path);
    }

    bool has_place_of(const DriverFile& data) const
    {
        return std::ranges::any_of(draft_.files, [&](const DriverFile* file) {
            return file->kind == FileKind::data && draft_.path_of(*file) == draft_.path_of(data);
        });
    }

    static constexpr std::string_view of_other_part = "belongs to the other part";

    Draft& draft_;
    Share& share_;
    const model::DriverStack& driver_;
    RuntimeFit fit_;
    std::vector<std::string> reasons_; ///< Why each file is not taken; "" if it is.
};

} // namespace

Result<void> choose_files(Draft& draft)
{
    for (Share& share : draft.shares)
        GPUCTR_CHECK(Choice(draft, share).run());
    return require_libraries(draft);
}

} // namespace gpucontainer::plan

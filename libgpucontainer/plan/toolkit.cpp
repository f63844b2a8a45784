// SPDX-License-Identifier: MIT
#include "plan/toolkit.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"

#include <algorithm>
#include <cerrno>

namespace gpucontainer::plan {
namespace {

using drivers::Toolkit;
using drivers::Toolkits;
using drivers::ToolkitVerdict;
using drivers::Vendor;
using model::FindingCode;
using rootfs::Entry;
using rootfs::EntryType;

constexpr std::string_view automatic = "auto";
constexpr const char* toolkit_argument = "toolkit";

const Toolkits* toolkits_of(const std::string& vendor)
{
    const Vendor* const found = drivers::find_vendor(vendor);
    return found == nullptr ? nullptr : found->toolkits;
}

bool is_missing(const Error& error)
{
    return error.os_error() == ENOENT || error.os_error() == ENOTDIR;
}

void find_usual(const Toolkits& toolkits, ToolkitChoice& choice)
{
    for (const std::string& directory : toolkits.usual("")) {
        auto toolkit = toolkits.read(directory);
        if (!toolkit && !is_missing(toolkit.error()))
            choice.findings.push_back({FindingCode::toolkit_decided, directory,
                                       base::format("not used: {}", toolkit.error().message()),
                                       directory});
        // A host has links to it, too.
        if (toolkit
            && std::ranges::find(choice.found, toolkit->id, &Toolkit::id) == choice.found.end())
            choice.found.push_back(*std::move(toolkit));
    }
}

class ToolkitDecision {
public:
    ToolkitDecision(Draft& draft, const Share& share, const Toolkits& toolkits)
        : draft_(draft), share_(share), toolkits_(toolkits), place_(toolkits.place),
          is_named_(draft.request.toolkit.wanted != automatic)
    {
    }

    Result<void> run()
    {
        const auto& findings = draft_.request.toolkit.findings;
        draft_.plan.findings.insert(draft_.plan.findings.end(), findings.begin(), findings.end());
        if (draft_.request.toolkit.found.empty()) {
            note("the host has none");
            return {};
        }
        const Entry entry = draft_.view.look(place_);
        const bool is_ours =
            std::ranges::any_of(draft_.request.toolkit.found,
                                [&](const Toolkit& toolkit) { return is_at(entry, toolkit); });
        if (!is_ours && has_images(entry))
            return {};
        if (!draft_.can_have(place_)) {
            leave(base::format("the image has no directory in which {} could be made", place_));
            return {};
        }
        return choose(entry);
    }

private:
    void note(std::string text)
    {
        draft_.skip(FindingCode::toolkit_decided, std::string(toolkits_.title), std::move(text),
                    place_);
    }

    void warn(const Toolkit& toolkit, std::string text, std::string hint)
    {
        draft_.plan.findings.push_back({FindingCode::toolkit_unfit, toolkit.path, std::move(text),
                                        toolkit.path, std::move(hint)});
    }

    /// A container that does not get what was named is worth a warning.
    void leave(std::string why)
    {
        if (is_named_)
            warn(draft_.request.toolkit.found.front(), "left out: " + std::move(why), "");
        else
            note(std::move(why));
    }

    /// Whether a set-up has mounted it there.
    static bool is_at(const Entry& entry, const Toolkit& toolkit)
    {
        return entry.type == EntryType::directory && entry.device == toolkit.id.device
               && entry.inode == toolkit.id.inode;
    }

    bool is_empty(const Entry& entry) const
    {
        return entry.type == EntryType::directory && draft_.view.is_empty_directory(place_);
    }

    void use(const Toolkit& toolkit, const Entry& entry)
    {
        const bool is_there = is_at(entry, toolkit);
        // The owner of an empty directory, such as another set-up, may remove it.
        const bool needs_name =
            draft_.is_missing(place_) || (is_empty(entry) && draft_.names.are_overlaid(place_));
        draft_.toolkit = {
            &toolkit, &toolkits_, {share_.driver.vendor}, !is_there && needs_name, is_there};
    }

    /// Anything there is the image's, but for an empty directory, which is a place to mount over.
    bool has_images(const Entry& entry)
    {
        if (!entry || is_empty(entry))
            return false;
        // Another set-up's, which goes first, or a runtime's.
        const bool is_mounted =
            entry.mount != draft_.view.resolve(std::string(base::directory_of(place_))).mount;
        if (is_mounted)
            note(base::format("something is mounted on {} already", place_));
        else
            leave(base::format("the image has its own {}", place_));
        return true;
    }

    ToolkitVerdict judge(const Toolkit& toolkit) const
    {
        return toolkits_.judge(share_.driver, toolkit);
    }

    Result<void> choose(const Entry& entry)
    {
        for (const Toolkit& toolkit : draft_.request.toolkit.found) {
            ToolkitVerdict verdict = judge(toolkit);
            if (verdict.objection.empty()) {
                if (!verdict.doubt.empty())
                    warn(toolkit, std::move(verdict.doubt), std::move(verdict.hint));
                use(toolkit, entry);
                return {};
            }
            if (is_named_)
                return Error(Errc::requirement, base::format("{} {}: {}", toolkits_.title,
                                                             toolkit.path, verdict.objection))
                    .with_object(toolkit.path)
                    .with_hint(std::move(verdict.hint))
                    .with_argument(toolkit_argument);
            warn(toolkit, base::format("left out: {}", verdict.objection), std::move(verdict.hint));
        }
        return {};
    }

    Draft& draft_;
    const Share& share_;
    const Toolkits& toolkits_;
    const std::string place_;
    const bool is_named_;
};

} // namespace

Result<void> find_toolkits(std::span<const model::DriverStack> drivers, ToolkitChoice& choice)
{
    if (choice.wanted.empty())
        return {};
    if (choice.wanted != automatic && !choice.wanted.starts_with('/'))
        return Error(Errc::usage, base::format("toolkit {}: neither \"auto\" nor an absolute path",
                                               choice.wanted))
            .with_object(choice.wanted)
            .with_argument(toolkit_argument);
    for (const model::DriverStack& driver : drivers) {
        const Toolkits* const toolkits = toolkits_of(driver.vendor);
        if (toolkits == nullptr)
            continue;
        if (choice.wanted == automatic) {
            find_usual(*toolkits, choice);
            continue;
        }
        GPUCTR_TRY(Toolkit toolkit, about(toolkit_argument, toolkits->read(choice.wanted)), "{} {}",
                   toolkits->title, choice.wanted);
        choice.found.push_back(std::move(toolkit));
    }
    return {};
}

Result<void> choose_toolkit(Draft& draft)
{
    if (draft.request.toolkit.wanted.empty())
        return {};
    for (const Share& share : draft.shares)
        if (const Toolkits* const toolkits = toolkits_of(share.driver.vendor))
            return ToolkitDecision(draft, share, *toolkits).run();
    draft.skip(FindingCode::toolkit_decided, draft.request.toolkit.wanted,
               "not used: no driver that it is for is chosen", "");
    return {};
}

void add_toolkit(Draft& draft)
{
    const ToolkitUse& use = draft.toolkit;
    if (use.toolkit == nullptr)
        return;
    draft.identify(base::format("toolkit {}", use.toolkit->path));
    draft.identify(use.toolkit->id);
    if (use.is_there)
        return;
    const std::string place(use.kind->place);
    if (use.is_missing)
        draft.add_name({Directory(), place, "where the host's toolkit is mounted", use.owner});
    draft.add({Bind{use.toolkit->path, use.toolkit->id, true}, place,
               base::format("the host's {} {}, as the image has none", use.kind->title,
                            use.toolkit->version),
               use.owner});
}

} // namespace gpucontainer::plan

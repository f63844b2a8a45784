// SPDX-License-Identifier: MIT
#include "plan/wanted.hpp"

#include "base/format.hpp"
#include "plan/image_libraries.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::FileKind;
using model::Manner;
using model::Precedence;

bool has_program(const Draft& draft, const std::string& name)
{
    const auto is_there = [&](const std::string& path) {
        return draft.view.resolve(path).type == rootfs::EntryType::regular;
    };
    if (name.starts_with('/'))
        return is_there(name);
    constexpr std::array directories = {"/usr/local/bin", "/usr/bin",        "/bin",
                                        "/usr/sbin",      "/usr/local/sbin", "/sbin"};
    return std::ranges::any_of(directories, [&](const char* directory) {
        return is_there(base::format("{}/{}", directory, name));
    });
}

std::string objection_to_script(const Draft& draft, const std::string& interpreter)
{
    if (draft.plan.layout != Layout::tree)
        return "it finds its libraries only in a tree";
    return draft.target == nullptr || has_program(draft, interpreter)
               ? ""
               : base::format("the image has no {}, which runs it", interpreter);
}

std::string objection_to_place(const Draft& draft, const model::DriverStack& driver,
                               const DriverFile& data, const std::string& path)
{
    // A driver's own data that fits one version only is mounted over the image's.
    const bool may_be_images = driver.optional_files || data.directory
                               || data.precedence != Precedence::always
                               || draft.view.resolve(path).type != rootfs::EntryType::regular;
    if (may_be_images && draft.view.look(path) && !draft.leads_into_tree(path)
        && !is_ours(draft.view.resolve(path), data))
        return "the image has its own";
    return draft.can_have(path) ? "" : "the image has something else in its place";
}

std::string objection_to_capability(const Draft& draft, const DriverFile& file)
{
    if (draft.capabilities.contains(file.capability) || draft.capabilities.contains(file.also))
        return "";
    return file.capability == Capability::none
               ? base::format("of no use in a container: {}", file.reason)
               : base::format("belongs to {}, which was not asked for: {}",
                              model::name(file.capability), file.reason);
}

/// What the image has where the file is read, and lacks to run it.
std::string objection_in_image(const Draft& draft, const model::DriverStack& driver,
                               const DriverFile& file)
{
    std::string reason;
    if (const std::string* const read_at = Draft::data_path(file))
        reason = objection_to_place(draft, driver, file, *read_at);
    const std::string* const interpreter = file.registered(Manner::script);
    if (reason.empty() && interpreter != nullptr)
        reason = objection_to_script(draft, *interpreter);
    return reason;
}

} // namespace

std::string objection_of_request(const Draft& draft, const model::DriverStack& driver,
                                 const DriverFile& file)
{
    if (draft.request.vendor_libs == VendorLibs::none)
        return "only device nodes were asked for";
    if (draft.is_for_any_image() && driver.optional_files
        && draft.request.vendor_libs != VendorLibs::host)
        return "an image may have its own, or be too old for it; --vendor-libs host gives it "
               "to all";
    if (file.compat32 && !draft.capabilities.contains(Capability::compat32))
        return base::format("is for 32-bit programs, and compat32 was not asked for: {}",
                            file.reason);
    if (std::string reason = objection_in_image(draft, driver, file); !reason.empty())
        return reason;
    const bool is_part = file.kind == FileKind::library && Draft::place_beside(file) != nullptr;
    if ((file.precedence == Precedence::image || is_part) && driver.optional_files)
        return "nothing that was asked for needs it";
    return objection_to_capability(draft, file);
}

} // namespace gpucontainer::plan

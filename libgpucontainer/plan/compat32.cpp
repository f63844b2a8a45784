// SPDX-License-Identifier: MIT
#include "plan/compat32.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::plan {

using model::Capability;
using model::DriverFile;
using model::FileKind;

namespace {

std::string_view loader_of_32_bit(const Draft& draft)
{
    const elf::Machine* const machine = elf::compat32_of(*draft.machine);
    return machine != nullptr ? machine->loader : "";
}

bool names_compat32(std::string_view asked)
{
    const auto words = base::split(asked, ',');
    return std::ranges::any_of(words, [](std::string_view word) {
        return base::trim(word) == model::name(Capability::compat32);
    });
}

bool has_compat32(const model::DriverStack& driver)
{
    return std::ranges::any_of(driver.files, &DriverFile::compat32);
}

} // namespace

std::string objection_of_image(const Draft& draft, const DriverFile& file)
{
    if (file.compat32)
        return draft.image32 ? ""
                             : base::format("the image runs no 32-bit programs: it has no {}",
                                            loader_of_32_bit(draft));
    if (file.kind == FileKind::data || draft.is_native())
        return "";
    return base::format("the image runs 32-bit programs alone: it has no {}",
                        draft.machine->loader);
}

Result<void> require_libraries(const Draft& draft)
{
    const bool is_known = draft.is_native() || draft.image32;
    if (!is_known || draft.is_native() || draft.has_libraries())
        return {};
    auto native = rootfs::find_layout(draft.view, *draft.machine);
    return native ? Result<void>() : std::move(native).error();
}

void report_compat32(Draft& draft, std::string_view asked)
{
    if (!draft.capabilities.contains(Capability::compat32)
        || draft.request.vendor_libs == VendorLibs::none
        || std::ranges::any_of(draft.files, &DriverFile::compat32))
        return;
    const auto code = names_compat32(asked) ? model::FindingCode::files_left_out
                                            : model::FindingCode::file_left_out;
    for (const Share& share : draft.shares) {
        const bool is_there = has_compat32(share.driver);
        const bool is_unfit = is_there && !draft.image32;
        draft.plan.findings.push_back(
            {code, base::format("32-bit libraries of {}", share.driver.vendor_name),
             is_unfit   ? base::format("the image runs no 32-bit programs: it has no {}",
                                       loader_of_32_bit(draft))
             : is_there ? "none is for the driver capabilities that were asked for"
                        : "not found on this host",
             is_unfit   ? std::string(loader_of_32_bit(draft))
             : is_there ? ""
                        : share.driver.root,
             is_there ? "" : "install the driver's packages for 32-bit programs"});
    }
}

} // namespace gpucontainer::plan

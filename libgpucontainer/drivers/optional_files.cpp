// SPDX-License-Identifier: MIT
#include "drivers/optional_files.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "search/closed_set.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::drivers {

using model::DriverStack;

Result<void> add_optional_files(const Sources& sources, model::Catalogue built_in,
                                std::span<const std::string> directories, DriverStack& stack)
{
    const search::MergedCatalogue catalogue(stack.vendor, built_in, sources.site);
    const auto rules = catalogue.all();
    GPUCTR_TRY(search::ClosedSet set,
               search::find_closed_set(sources.driver_root, rules, directories));
    stack.optional_files = true;
    stack.library_directory = std::move(set.library_directory);
    stack.files = std::move(set.files);
    for (const model::Findings* const findings :
         {&std::as_const(set.findings), &sources.site.findings})
        stack.findings.insert(stack.findings.end(), findings->begin(), findings->end());
    return {};
}

Result<DriverStack> without_gpus(DriverStack stack)
{
    if (std::ranges::all_of(stack.files, [](const model::DriverFile& file) {
            return file.precedence == model::Precedence::image;
        }))
        return Error(Errc::no_device,
                     base::format("no files of its driver {}",
                                  stack.root == "/" ? "on this host" : "in " + stack.root))
            .with_object(stack.root)
            .with_hint("install the driver's user space, or name its directory as driver root");
    stack.version_source = model::VersionSource::files;
    return stack;
}

} // namespace gpucontainer::drivers

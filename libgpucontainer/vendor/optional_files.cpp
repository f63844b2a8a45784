// SPDX-License-Identifier: MIT
#include "vendor/optional_files.hpp"

#include "base/try.hpp"
#include "vendor/closed_set.hpp"

#include <utility>

namespace gpucontainer::vendor {

Result<void> add_optional_files(const Sources& sources, Catalogue built_in,
                                std::span<const std::string> directories, DriverStack& stack)
{
    const MergedCatalogue catalogue(stack.vendor, built_in, sources.site);
    const auto rules = catalogue.all();
    GPUCTR_TRY(ClosedSet set, find_closed_set(sources.driver_root, rules, directories));
    stack.optional_files = true;
    stack.library_directory = std::move(set.library_directory);
    stack.files = std::move(set.files);
    for (const std::vector<Skipped>* const skipped :
         {&std::as_const(set.skipped), &sources.site.skipped})
        stack.skipped.insert(stack.skipped.end(), skipped->begin(), skipped->end());
    return {};
}

} // namespace gpucontainer::vendor

// SPDX-License-Identifier: MIT
#include "check/cdi_specifications.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cdi/fields.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::check {

using model::Blocks;
using model::Cause;
using model::Finding;
using model::FindingCode;
using model::Stage;

namespace {

constexpr const char* write_again =
    "write it again, as `gpuctr-setup cdi generate` or the vendor's tool does, at each start of "
    "the machine and after each update of the driver";

/// "vendor.com" of "vendor.com/gpu"
std::string_view owner_of(std::string_view kind) { return kind.substr(0, kind.find('/')); }

/// Whether a file that cannot be read is one for a vendor, by its name: "vendor.yaml".
bool is_named_after(std::span<const CdiVendor> vendors, std::string_view path)
{
    return std::ranges::any_of(vendors, [&](const CdiVendor& vendor) {
        const std::string_view owner = owner_of(vendor.kind);
        return !owner.empty() && base::name_of(path).starts_with(owner.substr(0, owner.find('.')));
    });
}

bool is_of(std::span<const CdiVendor> vendors, std::string_view kind)
{
    return std::ranges::any_of(vendors, [&](const CdiVendor& vendor) {
        return !vendor.kind.empty() && owner_of(vendor.kind) == owner_of(kind);
    });
}

/// A finding of cdi::report_outdated() is about a path that is there only if its number differs.
bool is_number(const Finding& finding)
{
    struct stat status = {};
    return ::lstat(finding.evidence.c_str(), &status) == 0;
}

/// One cause for what is wrong in the same way, with the first as example.
void add_outdated(const std::string& path, std::span<const Finding> findings, bool numbers,
                  model::Causes& causes)
{
    const Finding* first = nullptr;
    std::size_t count = 0;
    for (const Finding& finding : findings)
        if (is_number(finding) == numbers) {
            first = first == nullptr ? &finding : first;
            ++count;
        }
    if (first == nullptr)
        return;
    const std::string more = count == 1 ? "" : base::format(" (and {} more)", count - 1);
    causes.push_back(
        {{FindingCode::cdi_outdated, path,
          base::format("this CDI specification is not true of this host: {}{}; {}", first->text,
                       more,
                       numbers ? "programs in a container made from it cannot use that node"
                               : "engines make no container from it"),
          path, write_again},
         numbers ? Stage::init : Stage::setup,
         Blocks::some});
}

} // namespace

void add_cdi_causes(const cdi::Listing& listing, std::span<const CdiVendor> vendors,
                    model::Causes& causes)
{
    for (const cdi::ListedFile& file : listing.files) {
        if (!is_of(vendors, file.specification.kind))
            continue;
        model::Findings outdated;
        cdi::report_outdated(file, outdated);
        add_outdated(file.path, outdated, false, causes);
        add_outdated(file.path, outdated, true, causes);
    }
    std::string_view told; // of a file that has several faults, the first
    for (const Finding& finding : listing.findings) {
        const bool is_invalid =
            finding.code == FindingCode::cdi_invalid && is_named_after(vendors, finding.evidence);
        const bool is_conflict =
            finding.code == FindingCode::cdi_conflict && is_of(vendors, finding.object);
        if ((is_invalid && finding.evidence != told) || is_conflict)
            causes.push_back({finding, Stage::setup, Blocks::some});
        if (is_invalid)
            told = finding.evidence;
    }
}

void add_missing_devices(const cdi::Listing& listing, std::span<const CdiVendor> vendors,
                         const std::map<std::string, std::string>& container, model::Causes& causes)
{
    for (const CdiVendor& vendor : vendors) {
        const auto asked = vendor.variable.empty() ? container.end()
                                                   : container.find(std::string(vendor.variable));
        if (asked == container.end())
            continue;
        for (const std::string_view part : base::split(asked->second, ',')) {
            const std::string_view name = base::trim(part);
            const auto equals = name.find('=');
            if (equals == std::string_view::npos || !is_of(vendors, name.substr(0, equals))
                || std::ranges::find(listing.devices, name, &cdi::ListedDevice::name)
                       != listing.devices.end())
                continue;
            causes.push_back(
                {{FindingCode::cdi_missing, asked->first,
                  base::format("the container asks for the CDI device {}, and no specification in "
                               "the engines' directories has it: engines do not start it",
                               cdi::shown(name)),
                  asked->first,
                  "`gpuctr-setup cdi generate` writes a specification; the engine has to be told "
                  "of other directories than /etc/cdi and /var/run/cdi"},
                 Stage::setup,
                 Blocks::some});
            break; // one is enough to say so
        }
    }
}

cdi::Listing engines_specifications()
{
    std::vector<std::string> directories;
    for (const std::string_view directory : cdi::usual_directories())
        directories.emplace_back(directory);
    return cdi::read_paths(directories);
}

} // namespace gpucontainer::check

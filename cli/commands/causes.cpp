// SPDX-License-Identifier: MIT
#include "commands/causes.hpp"

#include "output/messages.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;
using gpucontainer::Finding;

/// Whether a diagnosis can tell more: of a host or request that does not do. A set-up that failed
/// half-way says itself what failed, and may have changed what this process sees.
bool has_causes(const Error& error)
{
    constexpr std::array statuses = {GPUCTR_E_NO_DEVICE, GPUCTR_E_DRIVER, GPUCTR_E_REQUIREMENT};
    return std::find(statuses.begin(), statuses.end(), error.status()) != statuses.end();
}

bool says(const Error& error, const Finding& finding)
{
    const std::string_view what = error.what();
    return what.find(finding.text()) != std::string_view::npos
           || finding.text().find(what) != std::string_view::npos
           || (!finding.evidence().empty() && finding.evidence() == error.object());
}

} // namespace

void tell_other_causes(const Error& error, const RequestOptions& request, const RootOptions& root,
                       const Call& call) noexcept
try {
    if (!has_causes(error))
        return;
    gpucontainer::CheckOptions options;
    options.host = request.host.options();
    std::optional<RootDirectory> directory;
    // A call that runs a command may have gone into the root directory already, where the image has
    // the names.
    const bool has_path =
        call.command_line.empty() || root.path.empty() || root.path.front() == '/';
    if (has_path && !root.pid && !root.open_image(ImageUse::looked_at))
        directory.emplace(root.open());
    const int rootfs_fd = directory ? directory->fd() : -1;
    // What there is to say about the request was said.
    options.request = request.request(rootfs_fd, {call.streams, Verbosity::quiet});
    const gpucontainer::Check check(options, rootfs_fd);
    for (const Finding finding : check.findings())
        if (finding.severity() == gpucontainer::Severity::error && !says(error, finding))
            call.messages().tell_also(finding);
} catch (const std::exception&) { // NOLINT(bugprone-empty-catch): the error itself is told
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "rootfs/real_path.hpp"

namespace gpucontainer::rootfs {

std::optional<std::string> real_path(const View& view, std::string_view path, LastLink last)
{
    return follow_links(
        path, last, [&](const std::string& name) { return view.look(name).type; },
        [&](const std::string& name) { return view.link_target(name); });
}

} // namespace gpucontainer::rootfs

// SPDX-License-Identifier: MIT
#include "plan/plan.hpp"

namespace gpucontainer::plan {

std::string_view name(ItemKind kind)
{
    switch (kind) {
    case ItemKind::directory:
        return "directory";
    case ItemKind::mount:
        return "mount";
    case ItemKind::bind:
        return "bind";
    case ItemKind::symlink:
        return "symlink";
    case ItemKind::file:
        return "file";
    case ItemKind::cover:
        return "cover";
    case ItemKind::device:
        return "device";
    case ItemKind::ldcache:
        return "ldcache";
    case ItemKind::env:
        return "env";
    }
    return "";
}

std::string_view name(Layout layout) { return layout == Layout::tree ? "tree" : "merged"; }

} // namespace gpucontainer::plan

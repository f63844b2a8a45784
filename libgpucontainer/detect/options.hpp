// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::detect {

/// Which drivers to look for, and where.
struct Detection {
    std::vector<std::string> vendors; ///< By name; each of them must be there.
    bool all_vendors = true;          ///< Look for other vendors too.
    std::string driver_root = "/";
    std::string driver_version; ///< Empty: ask the kernel.
    std::vector<std::string> catalogues;
    std::string catalogue_directory; ///< Empty: none.
    std::string dev_root;            ///< Empty: "/".
    std::string mig_map;             ///< File with what `nvidia-smi -L` printed; empty: none.
    bool files_alone = false;        ///< Vendors in `vendors` need no GPU.
    bool whole_bus = false;          ///< As in drivers::Sources.
    host::Trace* trace = nullptr;    ///< Where paths in the driver root are noted; null: nowhere.

    bool asks_for(std::string_view vendor) const
    {
        return std::ranges::find(vendors, vendor) != vendors.end();
    }
};

} // namespace gpucontainer::detect

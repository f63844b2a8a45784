// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"
#include "host/enumerator.hpp"
#include "loading/kernel_modules.hpp"
#include "model/finding.hpp"

#include <string>
#include <vector>

namespace gpucontainer::loading {

/// What an administrator wants of a host, and where that is.
struct Wanted {
    std::vector<std::string> vendors; ///< Empty: all.
    bool display = false;             ///< Also what only mode setting needs.
    std::string system_root = {};     ///< As in drivers::Sources.
    ModulePlaces places = {};
};

/// Loads the kernel modules that the GPUs of the vendors need and that are not loaded, and makes
/// their device nodes that this host lacks. Nothing that is there is changed, and a host without
/// such GPUs neither. Vendors without drivers::Loading are passed over. It says in `findings` what
/// it did, also if it fails later. Errors: permission, without CAP_SYS_MODULE or CAP_MKNOD in the
/// initial user namespace, if they are needed; those of load_modules().
Result<void> load(const Wanted& wanted, host::Enumerator& pci, model::Findings& findings);

} // namespace gpucontainer::loading

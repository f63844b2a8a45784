// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/driver_root.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "rootfs/view.hpp"

#include <string>

namespace gpucontainer::explain {

/// Files of the host with a name of `file` that are other files: where the loader, a shell or the
/// driver's search could find them. The text of each says why it is not taken.
model::Findings copies_on_host(const host::DriverRoot& root, const model::DriverStack& driver,
                               const model::DriverFile& file);

/// The same for a library or tool that the driver does not have.
model::Findings copies_on_host(const host::DriverRoot& root, const model::DriverStack& driver,
                               const std::string& name);

/// The image's own files with the soname of a library, or the name of a tool, and what becomes of
/// each once the plan is carried out.
model::Findings copies_in_image(const rootfs::View& view, const plan::Plan& plan,
                                const model::DriverStack& driver, const model::DriverFile& file,
                                bool given);

} // namespace gpucontainer::explain

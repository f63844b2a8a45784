// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

/// After a set-up failed, says what else keeps GPU programs from working, as the command `check`
/// does. What `error` says itself is not said again. It throws nothing.
void tell_other_causes(const gpucontainer::Error& error, const RequestOptions& request,
                       const RootOptions& root, const Call& call) noexcept;

} // namespace gpuctr_cli

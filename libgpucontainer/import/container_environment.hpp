// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "import/variables.hpp"
#include "model/finding.hpp"
#include "rootfs/view.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// The environment that an image or a runtime gives to a container. Whoever made these may be
/// hostile.
struct ContainerEnvironment {
    Variables variables;
    model::Findings findings; ///< What of it is not known.
};

/// Reads the environment of an image from its files: the scripts in /.singularity.d/env, which are
/// not executed, and /ch/environment; and from its configuration, if it has one. An image without
/// them has none. Errors: rootfs, for a file that is there and cannot be read.
Result<ContainerEnvironment> read_image(const rootfs::RootView& root);

/// Reads the text of a file: a JSON document for read_oci_config(), a shell script, or lines
/// NAME=VALUE. Errors: usage.
Result<ContainerEnvironment> read_text(std::string_view text);

/// Adds what a user sets for the container by variables of his own: SINGULARITYENV_NAME and
/// APPTAINERENV_NAME, which comes first.
void add_prefixed(std::span<const char* const> environment, Variables& variables);

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#pragma once

#include "import/document_parts.hpp"
#include "import/variables.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::imports {

/// Which wishes of a container count, one bit each.
using AcceptedWishes = std::uint32_t;
inline constexpr AcceptedWishes by_environment = 1U << 0U;
inline constexpr AcceptedWishes by_privileged_environment = 1U << 1U;
inline constexpr AcceptedWishes by_mounts = 1U << 2U; ///< Before the environment.
/// Of images that name no GPUs, if their environment counts.
inline constexpr AcceptedWishes by_legacy_image = 1U << 3U;
inline constexpr AcceptedWishes all_wishes =
    by_environment | by_privileged_environment | by_mounts | by_legacy_image;

/// What of a configuration counts for wishes, besides parts_with_variables.
inline constexpr std::array<std::string_view, 2> parts_about_privileges = {
    "process/capabilities/bounding/*", "linux/namespaces/*/type"};

/// What a container asks for, as far as that counts.
struct Wishes {
    Variables variables;
    std::vector<std::string> vendors; ///< Those whose GPUs or files it asks for.
    /// Whether some are named, or asked for by mounts: that is a user's wish. A configuration does
    /// not tell who set a variable, and "all" may be the image's.
    bool names_gpus = false;
    std::vector<std::string> refused; ///< What does not count, for people.
};

/// `parts` may get a fault.
Wishes wishes_of(Parts& parts, AcceptedWishes accepted);

} // namespace gpucontainer::imports

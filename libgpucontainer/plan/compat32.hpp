// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::plan {

/// Why the image cannot use a library or tool: it runs 32-bit programs alone, or none. "" if it
/// can. Call look_at_image() before.
std::string objection_of_image(const Draft& draft, const model::DriverFile& file);

/// Fails if the image runs 32-bit programs alone, and gets no library. Errors: rootfs.
Result<void> require_libraries(const Draft& draft);

/// Says that nothing came of 32-bit libraries, if `asked`, a list of capabilities, names them.
/// Without a warning, "all" means those that there are.
void report_compat32(Draft& draft, std::string_view asked);

} // namespace gpucontainer::plan

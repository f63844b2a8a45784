// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/fields.hpp"
#include "cdi/specification.hpp"

#include <string_view>
#include <vector>

namespace gpucontainer::cdi {

enum class Form : std::uint8_t { json, yaml };

struct Document {
    Specification specification; ///< Only complete if there is no fault.
    std::vector<Fault> faults;
};

/// Reads and checks a specification, which may be hostile. The rules are those of the
/// specification, and where its library for Go differs, what that accepts: engines use it.
Document read_document(std::string_view text, Form form);

} // namespace gpucontainer::cdi

// SPDX-License-Identifier: MIT
#pragma once

// Stands in for libgpucontainer/base/try.hpp, whose __VA_OPT__ cppcheck's
// preprocessor does not know.
#define GPUCTR_TRY(declaration, result, ...) declaration = *(result)
#define GPUCTR_CHECK(result, ...)                                                                  \
    if (auto checked = (result); !checked)                                                         \
    return std::move(checked).error()

// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "base/result.hpp"

#define GPUCTR_CONCAT_IMPL(a, b) a##b
#define GPUCTR_CONCAT(a, b) GPUCTR_CONCAT_IMPL(a, b)

/// Evaluates a Result. Returns its error from the function, or continues. Further arguments are an
/// fmt string that names the step; it is formatted only on failure.
///
///     GPUCTR_CHECK(tree.attach(target.get()), "bind {}", source);
#define GPUCTR_CHECK(expression, ...)                                                              \
    do {                                                                                           \
        if (auto result_ = (expression); !result_)                                                 \
            return std::move(result_).error()                                                      \
                __VA_OPT__(.context(::gpucontainer::base::format(__VA_ARGS__)));                   \
    } while (false)

/// The same, and keeps the value.
///
///     GPUCTR_TRY(auto target, root.create_file(entry.target()));
#define GPUCTR_TRY(declaration, expression, ...)                                                   \
    GPUCTR_TRY_IMPL(GPUCTR_CONCAT(result_, __COUNTER__), declaration,                              \
                    expression __VA_OPT__(, ) __VA_ARGS__)
#define GPUCTR_TRY_IMPL(result, declaration, expression, ...)                                      \
    auto result = (expression);                                                                    \
    if (!result)                                                                                   \
        return std::move(result).error()                                                           \
            __VA_OPT__(.context(::gpucontainer::base::format(__VA_ARGS__)));                       \
    declaration = *std::move(result)

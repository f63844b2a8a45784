// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "requirement/expression.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::requirement {

/// Something that has a value of a fact.
struct Source {
    std::string value; ///< "12.4"
    std::string from;  ///< "driver 550.54.14": it and all later ones have this value or more.
};

/// What is known of a driver or of a GPU.
struct Fact {
    std::string_view name; ///< "arch"
    bool of_gpu = false;   ///< It is the GPU's; else its driver's.
    /// One version; or words, all of which are right. None: it is not known.
    std::vector<std::string> values;
    bool or_later = false;            ///< The version may also be a later one.
    std::string sentence;             ///< What is known: "the driver is 580.159.04"
    std::vector<Source> sources = {}; ///< Of a driver's fact: drivers that have more of it,
                                      ///< ascending; none: the value is the driver's own version.
};

/// A driver with one of its GPUs, or without a GPU.
struct Subject {
    std::string gpu; ///< Its index, for messages; "" without a GPU.
    std::vector<Fact> facts;
    /// Why the driver cannot use the GPU, and what can be done about it; "": it can.
    std::string obstacle = {};
    std::string hint = {};
};

enum class Truth : std::uint8_t { no, unknown, yes };

/// A clause about a fact that the subject does not have holds: without a GPU, every GPU would do.
Truth truth_of(const Clause& clause, const Subject& subject);
Truth truth_of(const Expression& expression, const Subject& subject);

/// Checks that an expression holds for each of the chosen subjects. What is not known is not met.
/// Errors: requirement. The message names the clause, and what contradicts it. The hint says what
/// would meet the expression: another driver, another GPU, or one of the `others`, which can be
/// chosen instead.
Result<void> check(const Expression& expression, std::span<const Subject> chosen,
                   std::span<const Subject> others);

} // namespace gpucontainer::requirement

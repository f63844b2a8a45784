// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::requirement {

inline constexpr std::size_t longest_expression = 32768;
inline constexpr std::size_t longest_clause = 128;

/// How a clause compares: "=", "!=", "<", "<=", ">" or ">=".
enum class Relation : std::uint8_t { equal, not_equal, less, at_most, greater, at_least };
std::string_view name(Relation relation);

enum class Kind : std::uint8_t {
    version, ///< Numbers with dots between them.
    word,    ///< Compared by "=" and "!=" only, in either case.
};

/// A name that clauses may have.
struct Name {
    std::string_view name; ///< "arch"
    Kind kind = Kind::version;
};

/// "arch>=9.0"
struct Clause {
    std::string name;
    Kind kind = Kind::version;
    Relation relation = Relation::equal;
    std::string value;

    std::string text() const;
    bool operator==(const Clause&) const = default;
};

/// Clauses that must all hold; at least one.
using Alternative = std::vector<Clause>;

/// One alternative must hold. Without any, nothing is required.
struct Expression {
    std::vector<Alternative> alternatives;

    bool operator==(const Expression&) const = default;
};

/// Reads an expression in the form of NVIDIA's container images: blanks separate alternatives,
/// commas join clauses. The text may be an image's: it may have at most `longest_expression` bytes,
/// all of them printable ASCII. Errors: usage, naming the clause.
Result<Expression> parse(std::string_view text, std::span<const Name> known);

/// Whether it is numbers with dots between them; at most eight, of at most nine digits.
bool is_version(std::string_view text);

/// Compares two versions number by number. Missing numbers count as 0.
std::strong_ordering compare(std::string_view left, std::string_view right);

} // namespace gpucontainer::requirement

// SPDX-License-Identifier: MIT
#include "requirement/expression.hpp"

#include "base/format.hpp"
#include "base/similar.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::requirement {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t longest_version = 8;
constexpr std::size_t longest_number = 9;
constexpr std::size_t longest_word = 32;

// In the order of the enumerators.
constexpr std::array<std::string_view, 6> relation_names = {"=", "!=", "<", "<=", ">", ">="};

Error refused(std::string_view clause, std::string_view why, std::string hint)
{
    return Error(Errc::usage, base::format("requirement {}: {}", clause, why))
        .with_object(std::string(clause))
        .with_hint(std::move(hint));
}

Error malformed(std::string_view clause, std::string_view why)
{
    return refused(clause.empty() ? "''" : clause, why,
                   "a clause is a name, one of = != < <= > >=, and a value, without blanks; commas "
                   "join clauses, and blanks separate alternatives");
}

std::string names_of(std::span<const Name> known)
{
    std::vector<std::string_view> names;
    for (const Name& one : known)
        names.push_back(one.name);
    return base::joined(names, ", ");
}

Error unknown_name(std::string_view clause, std::string_view name, std::span<const Name> known)
{
    std::vector<std::string_view> names;
    for (const Name& one : known)
        names.push_back(one.name);
    return refused(
        clause, base::format("unknown name {}", name),
        base::format("{}known names are {}", base::suggestion(name, names), names_of(known)));
}

bool is_word(std::string_view text)
{
    return !text.empty() && text.size() <= longest_word && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || c == '-' || c == '_';
    });
}

Result<Relation> read_relation(std::string_view clause, std::string_view& rest)
{
    // The longest name that fits: ">=", not ">".
    std::size_t best = relation_names.size();
    for (std::size_t i = 0; i < relation_names.size(); ++i)
        if (rest.starts_with(relation_names.at(i))
            && (best == relation_names.size()
                || relation_names.at(i).size() > relation_names.at(best).size()))
            best = i;
    if (best == relation_names.size())
        return malformed(clause, "no comparison in it");
    rest.remove_prefix(relation_names.at(best).size());
    return static_cast<Relation>(best);
}

Result<Clause> read_clause(std::string_view text, std::span<const Name> known)
{
    if (text.size() > longest_clause)
        return refused(base::format("{}...", text.substr(0, longest_clause / 4)),
                       base::format("longer than {} characters", longest_clause),
                       "blanks separate alternatives, and commas join clauses");
    constexpr std::string_view signs = "=!<>";
    const std::size_t end = std::min(text.find_first_of(signs), text.size());
    const std::string_view name = text.substr(0, end);
    if (name.empty())
        return malformed(text, text.empty() ? "an empty clause" : "no name in it");
    std::string_view rest = text.substr(end);
    GPUCTR_TRY(const Relation relation, read_relation(text, rest));
    if (const std::size_t value = std::min(text.find_first_not_of(signs, end), text.size());
        rest.size() != text.size() - value)
        return malformed(text, base::format("{} is no comparison", text.substr(end, value - end)));
    const auto found = std::ranges::find(known, name, &Name::name);
    if (found == known.end())
        return unknown_name(text, name, known);
    const bool is_of_words = found->kind == Kind::word;
    if (is_of_words && relation != Relation::equal && relation != Relation::not_equal)
        return refused(text, base::format("{} can only be compared by = and !=", name), "");
    if (rest.empty())
        return malformed(text, "no value in it");
    if (!(is_of_words ? is_word(rest) : is_version(rest)))
        return refused(text, base::format("{} is not a {}", rest, is_of_words ? "word" : "version"),
                       is_of_words ? "a word has letters, digits, - and _"
                                   : "a version is numbers with dots between them, such as 12.4");
    return Clause{std::string(name), found->kind, relation, std::string(rest)};
}

Result<Alternative> read_alternative(std::string_view text, std::span<const Name> known)
{
    Alternative clauses;
    for (const std::string_view part : base::split(text, ',')) {
        GPUCTR_TRY(Clause clause, read_clause(part, known));
        clauses.push_back(std::move(clause));
    }
    return clauses;
}

/// The number at the front, without it and its dot; 0 if there is none.
std::uint64_t take_number(std::string_view& version)
{
    const std::size_t dot = std::min(version.find('.'), version.size());
    const std::uint64_t number = base::to_number(version.substr(0, dot)).value_or(0);
    version.remove_prefix(std::min(dot + 1, version.size()));
    return number;
}

} // namespace

std::string_view name(Relation relation)
{
    return relation_names.at(static_cast<std::size_t>(relation));
}

std::string Clause::text() const
{
    return base::format("{}{}{}", name, requirement::name(relation), value);
}

Result<Expression> parse(std::string_view text, std::span<const Name> known)
{
    if (text.size() > longest_expression)
        return Error(Errc::usage,
                     base::format("requirement: longer than {} characters", longest_expression));
    const auto is_allowed = [](char c) {
        return (c >= ' ' && c <= '~') || blanks.find(c) != std::string_view::npos;
    };
    if (!std::ranges::all_of(text, is_allowed))
        return Error(Errc::usage, "requirement: a character in it is not printable ASCII");
    Expression expression;
    for (std::size_t at = text.find_first_not_of(blanks); at < text.size();
         at = text.find_first_not_of(blanks, at)) {
        const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
        GPUCTR_TRY(Alternative alternative, read_alternative(text.substr(at, end - at), known));
        expression.alternatives.push_back(std::move(alternative));
        at = end;
    }
    return expression;
}

bool is_version(std::string_view text)
{
    const auto is_number = [](std::string_view part) {
        return !part.empty() && part.size() <= longest_number
               && part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const auto parts = base::split(text, '.');
    return parts.size() <= longest_version && std::ranges::all_of(parts, is_number);
}

std::strong_ordering compare(std::string_view left, std::string_view right)
{
    while (!left.empty() || !right.empty())
        if (const auto order = take_number(left) <=> take_number(right); std::is_neq(order))
            return order;
    return std::strong_ordering::equal;
}

} // namespace gpucontainer::requirement

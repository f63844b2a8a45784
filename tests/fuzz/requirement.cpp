// SPDX-License-Identifier: MIT
#include "requirement/evaluation.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using requirement::Clause;
using requirement::Expression;
using requirement::Kind;
using requirement::Name;
using requirement::Subject;
using requirement::Truth;

constexpr std::array names = {Name{"cuda"}, Name{"driver"}, Name{"arch"},
                              Name{"brand", Kind::word}};

Subject subject(const std::string& index, bool is_known)
{
    Subject one = {index,
                   {{"driver", false, {"580.159.04"}, false, "the driver"},
                    {"cuda", false, {"13.0"}, true, "the API", {{"13.1", "driver 590"}}},
                    {"arch", true, {"9.0"}, false, "the chip"},
                    {"brand", true, {"nvidia", "tesla"}, false, "the name"}}};
    if (!is_known)
        one.facts.at(2).values.clear();
    return one;
}

std::string to_text(const Expression& expression)
{
    std::string text;
    for (const auto& clauses : expression.alternatives) {
        std::string before = text.empty() ? "" : " ";
        for (const Clause& clause : clauses) {
            text += before + clause.text();
            before = ",";
        }
    }
    return text;
}

/// What an alternative is, clause by clause.
Truth all_of(const requirement::Alternative& clauses, const Subject& one)
{
    const auto is = [&](Truth truth) {
        return [&one, truth](const Clause& clause) { return truth_of(clause, one) == truth; };
    };
    return std::ranges::any_of(clauses, is(Truth::no))        ? Truth::no
           : std::ranges::any_of(clauses, is(Truth::unknown)) ? Truth::unknown
                                                              : Truth::yes;
}

Truth any_of(const Expression& expression, const Subject& one)
{
    bool unknown = false;
    for (const auto& clauses : expression.alternatives) {
        const Truth truth = all_of(clauses, one);
        if (truth == Truth::yes)
            return truth;
        unknown = unknown || truth == Truth::unknown;
    }
    return expression.alternatives.empty() ? Truth::yes : unknown ? Truth::unknown : Truth::no;
}

bool is_plain(std::string_view text) { return std::ranges::none_of(text, base::is_control); }

void check_refusal(const Error& error)
{
    demand(is_plain(error.message()) && is_plain(error.hint()), "a terminal may show it");
    constexpr std::size_t long_enough = 4096;
    demand(error.message().size() + error.hint().size() < long_enough, "a message has a bound");
}

} // namespace

/// A requirement as an image may have it.
void run(std::string_view input)
{
    const auto expression = requirement::parse(input, names);
    if (!expression) {
        demand(expression.error().code() == Errc::usage, "it is the text that is wrong");
        check_refusal(expression.error());
        return;
    }
    const auto again = requirement::parse(to_text(*expression), names);
    demand(again && *again == *expression, "what was read can be written");

    const std::array chosen = {subject("0", true), subject("1", false)};
    for (const Subject& one : chosen)
        demand(truth_of(*expression, one) == any_of(*expression, one), "it means what it says");
    const auto checked = check(*expression, chosen, {});
    const bool is_met = std::ranges::all_of(
        chosen, [&](const Subject& one) { return any_of(*expression, one) == Truth::yes; });
    demand(checked.has_value() == is_met, "every chosen GPU meets it");
    if (!checked) {
        demand(checked.error().code() == Errc::requirement && !checked.error().hint().empty(),
               "the hint says what would meet it");
        check_refusal(checked.error());
    }
}

} // namespace gpucontainer::fuzz

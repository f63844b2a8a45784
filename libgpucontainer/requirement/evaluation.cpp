// SPDX-License-Identifier: MIT
#include "requirement/evaluation.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gpucontainer::requirement {
namespace {

constexpr std::size_t most_proposals = 3;
constexpr std::size_t most_gpus = 8;
constexpr std::size_t most_clauses = 6;

const Fact* find_fact(const Subject& subject, const Clause& clause)
{
    const auto found = std::ranges::find(subject.facts, clause.name, &Fact::name);
    return found == subject.facts.end() ? nullptr : &*found;
}

Truth truth(bool holds) { return holds ? Truth::yes : Truth::no; }

Truth of_words(const Clause& clause, const Fact& fact)
{
    const bool is_one = std::ranges::any_of(fact.values, [&](const std::string& word) {
        return base::to_lower(word) == base::to_lower(clause.value);
    });
    return truth(is_one == (clause.relation == Relation::equal));
}

bool holds(Relation relation, std::strong_ordering order)
{
    switch (relation) {
    case Relation::equal:
        return std::is_eq(order);
    case Relation::not_equal:
        return std::is_neq(order);
    case Relation::less:
        return std::is_lt(order);
    case Relation::at_most:
        return std::is_lteq(order);
    case Relation::greater:
        return std::is_gt(order);
    case Relation::at_least:
        return std::is_gteq(order);
    }
    return false;
}

Truth of_version(const Clause& clause, const Fact& fact)
{
    const auto order = compare(fact.values.front(), clause.value);
    const bool now = holds(clause.relation, order);
    if (!fact.or_later)
        return truth(now);
    // It is decided if the version and every later one give the same answer.
    if (std::is_gt(order))
        return truth(now);
    const bool rises = clause.relation == Relation::at_least;
    const bool falls = clause.relation == Relation::less;
    return std::is_eq(order) && (rises || falls) ? truth(now) : Truth::unknown;
}

Truth truth_of(const Alternative& clauses, const Subject& subject)
{
    Truth all = Truth::yes;
    for (const Clause& clause : clauses)
        all = std::min(all, truth_of(clause, subject));
    return all;
}

bool is_of_gpu(const Clause& clause, const Subject& subject)
{
    const Fact* const fact = find_fact(subject, clause);
    return fact != nullptr && fact->of_gpu;
}

/// The clauses of one kind that do not hold.
std::vector<const Clause*> failing(const Alternative& clauses, const Subject& subject, bool of_gpu)
{
    std::vector<const Clause*> found;
    for (const Clause& clause : clauses)
        if (is_of_gpu(clause, subject) == of_gpu && truth_of(clause, subject) != Truth::yes)
            found.push_back(&clause);
    return found;
}

/// The alternative that is closest to being met. A GPU is harder to replace than a driver.
const Alternative& closest(const Expression& expression, const Subject& subject)
{
    const auto distance = [&](const Alternative& clauses) {
        return std::pair(truth_of(clauses, subject) == Truth::no,
                         2 * failing(clauses, subject, true).size()
                             + failing(clauses, subject, false).size());
    };
    return *std::ranges::min_element(expression.alternatives, {}, distance);
}

std::string joined(const std::vector<const Clause*>& clauses)
{
    std::vector<std::string> texts;
    for (const Clause* const clause : clauses)
        if (texts.size() < most_clauses)
            texts.push_back(clause->text());
    return base::joined(texts, ",") + (clauses.size() > most_clauses ? ",..." : "");
}

/// "driver 550.54.14 or later", or "a driver with driver>=470,driver<471".
std::string proposed_driver(const Alternative& clauses, const Subject& subject)
{
    std::vector<const Clause*> of_driver;
    for (const Clause& clause : clauses)
        if (!is_of_gpu(clause, subject))
            of_driver.push_back(&clause);
    const Clause& first = *of_driver.front();
    const Fact* const fact = find_fact(subject, first);
    if (of_driver.size() == 1 && first.relation == Relation::at_least && fact != nullptr) {
        if (fact->sources.empty())
            return base::format("{} {} or later", first.name, first.value);
        for (const Source& source : fact->sources)
            if (std::is_gteq(compare(source.value, first.value)))
                return source.from + " or later";
    }
    return "a driver with " + joined(of_driver);
}

/// What would meet an alternative that is not met.
std::string proposal(const Alternative& clauses, const Subject& subject)
{
    std::string text;
    if (!failing(clauses, subject, false).empty())
        text = proposed_driver(clauses, subject);
    if (const auto of_gpu = failing(clauses, subject, true); !of_gpu.empty())
        text += base::format("{}a GPU with {}", text.empty() ? "" : " and ", joined(of_gpu));
    return text;
}

/// Drivers with which the subject's GPU would meet the expression.
std::vector<std::string> proposed_drivers(const Expression& expression, const Subject& subject)
{
    std::vector<std::string> texts;
    for (const Alternative& clauses : expression.alternatives) {
        if (texts.size() == most_proposals)
            break;
        if (!failing(clauses, subject, true).empty())
            continue;
        std::string text = proposal(clauses, subject);
        if (std::ranges::find(texts, text) == texts.end())
            texts.push_back(std::move(text));
    }
    return texts;
}

/// "choose GPU 2, which meets it"; "" if none of them does.
std::string proposed_gpus(const Expression& expression, std::span<const Subject> others)
{
    std::vector<std::string> fitting;
    for (const Subject& other : others)
        if (other.obstacle.empty() && truth_of(expression, other) == Truth::yes
            && fitting.size() < most_gpus)
            fitting.push_back(other.gpu);
    if (fitting.empty())
        return "";
    return fitting.size() == 1
               ? base::format("choose GPU {}, which meets it", fitting.front())
               : base::format("choose among GPUs {}, which meet it", base::joined(fitting, ", "));
}

std::string hint_for(const Expression& expression, const Alternative& shown, const Subject& subject,
                     std::span<const Subject> others)
{
    std::string hint = proposed_gpus(expression, others);
    if (truth_of(shown, subject) == Truth::unknown)
        return base::format("{}{}leave out what you know to hold", hint,
                            hint.empty() ? "" : "; or ");
    if (const auto drivers = proposed_drivers(expression, subject); !drivers.empty())
        hint += base::format("{}install {}", hint.empty() ? "" : "; or ",
                             base::joined(drivers, ", or "));
    return hint.empty() ? base::format("it needs {}", proposal(shown, subject)) : hint;
}

/// "arch>=9.0: not met: GPU 0 (Tesla T4) has compute capability 7.5"
std::string contradictions(const Alternative& shown, const Subject& subject)
{
    std::string text;
    std::size_t count = 0;
    for (const Clause& clause : shown) {
        const Truth truth = truth_of(clause, subject);
        if (truth == Truth::yes || ++count > most_clauses)
            continue;
        text += base::format("{}{}: {}: {}", text.empty() ? "" : "; ", clause.text(),
                             truth == Truth::no ? "not met" : "cannot be checked",
                             find_fact(subject, clause)->sentence);
    }
    return count > most_clauses
               ? base::format("{}; and {} more clauses", text, count - most_clauses)
               : text;
}

Error unmet(const Expression& expression, const Subject& subject, std::span<const Subject> others)
{
    const Alternative& shown = closest(expression, subject);
    const auto clause = std::ranges::find_if(
        shown, [&](const Clause& one) { return truth_of(one, subject) != Truth::yes; });
    std::string text = "requirement " + contradictions(shown, subject);
    const std::size_t more = expression.alternatives.size() - 1;
    if (more == 1)
        text += "; nor is the other alternative met";
    else if (more > 1)
        text += base::format("; nor is one of the other {} alternatives met", more);
    return Error(Errc::requirement, std::move(text))
        .with_object(clause->text())
        .with_hint(hint_for(expression, shown, subject, others));
}

} // namespace

Truth truth_of(const Clause& clause, const Subject& subject)
{
    const Fact* const fact = find_fact(subject, clause);
    if (fact == nullptr)
        return Truth::yes;
    if (fact->values.empty())
        return Truth::unknown;
    return clause.kind == Kind::word ? of_words(clause, *fact) : of_version(clause, *fact);
}

Truth truth_of(const Expression& expression, const Subject& subject)
{
    if (expression.alternatives.empty())
        return Truth::yes;
    Truth any = Truth::no;
    for (const Alternative& clauses : expression.alternatives)
        any = std::max(any, truth_of(clauses, subject));
    return any;
}

Result<void> check(const Expression& expression, std::span<const Subject> chosen,
                   std::span<const Subject> others)
{
    for (const Subject& subject : chosen) {
        if (expression.alternatives.empty())
            break;
        if (!subject.obstacle.empty())
            return Error(Errc::requirement,
                         base::format("requirement {}: {}",
                                      expression.alternatives.front().front().text(),
                                      subject.obstacle))
                .with_hint(subject.hint);
        if (truth_of(expression, subject) != Truth::yes)
            return unmet(expression, subject, others);
    }
    return {};
}

} // namespace gpucontainer::requirement

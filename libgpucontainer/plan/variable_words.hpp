// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// What a program counts as one: a GPU, or one of its parts.
struct Counted {
    unsigned gpu = 0;
    std::optional<unsigned> part; ///< None: the whole.

    bool operator==(const Counted&) const = default;
};

/// What one variable says to those who read it, and count `seen`. It refers to all three.
class VariableWords {
public:
    VariableWords(const model::DriverStack& driver, const model::VisibleDevices& variable,
                  const std::vector<Counted>& seen)
        : driver_(driver), variable_(variable), seen_(seen)
    {
    }

    /// What is left by a value. Its numbers are positions among what is seen, for most
    /// readers. Where one is too high for that, and all together are those of the
    /// scheduler's list, they are indexes of the host's GPUs, as they are there.
    std::vector<Counted> read(std::string_view value, std::string_view scheduler) const;

    /// The first word that the variable's reader takes for an error; none where it takes
    /// all, or passes over those that it does not know.
    std::optional<std::string_view> unknown_word(std::string_view value) const;

    /// The words for these; none where one has no such word.
    std::optional<std::string> write(const std::vector<Counted>& counted) const;

private:
    using All = std::vector<Counted>;

    bool repeats(std::string_view value, std::string_view scheduler) const;
    All find(std::string_view word) const;
    All find_of_toolkit(std::string_view word) const;
    All find_seen(std::string_view word) const;
    All find_position(std::string_view word) const;
    bool is_known_to_toolkit(std::string_view word) const;
    std::string_view without_kind(std::string_view word) const;
    bool counts_elsewhere(std::string_view value) const;
    All in_order(const All& found) const;
    std::string word_for(const Counted& one) const;
    std::string name_of(unsigned gpu) const;

    const model::DriverStack& driver_;
    const model::VisibleDevices& variable_;
    const std::vector<Counted>& seen_;
};

} // namespace gpucontainer::plan

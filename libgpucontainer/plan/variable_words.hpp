// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// What a program counts as one device: a GPU, or one of its parts.
struct Counted {
    unsigned gpu = 0;
    std::optional<unsigned> part; ///< None: the whole GPU.

    bool operator==(const Counted&) const = default;
};

/// The meaning of a variable for programs that read it and count `seen`. It borrows all three.
class VariableWords {
public:
    VariableWords(const model::DriverStack& driver, const model::VisibleDevices& variable,
                  const std::vector<Counted>& seen)
        : driver_(driver), variable_(variable), seen_(seen)
    {
    }

    /// What a value leaves. For most readers, its numbers are positions among `seen`. If one is too
    /// high, and the numbers are those of the scheduler's list, they are indexes of the host's
    /// GPUs, as in that list.
    std::vector<Counted> read(std::string_view value, std::string_view scheduler) const;

    /// How many a program could count.
    struct Numbers {
        std::size_t granted = 0; ///< Of what may be used.
        std::size_t on_host = 0; ///< If it might use all.
    };
    /// Whether a list has nothing but numbers of the host's, and one of them is too high for what
    /// is granted. A list that repeats the scheduler's is understood.
    bool counts_beyond(std::string_view value, std::string_view scheduler, Numbers numbers) const;

    /// The first word that is an error for the variable's reader; none if it knows all words, or
    /// skips unknown ones.
    std::optional<std::string_view> unknown_word(std::string_view value) const;

    /// The GPUs that a word names to a container runtime; none if it is not the name of one.
    std::optional<std::vector<Counted>> find_on_host(std::string_view word) const;

    /// The words for these; none if one of them has no such word.
    std::optional<std::string> write(const std::vector<Counted>& counted) const;

private:
    using All = std::vector<Counted>;

    bool has_positions() const;
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

// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Numbers from `first` to `last`, which is one of them.
struct IndexRange {
    unsigned first = 0;
    unsigned last = 0;

    bool operator==(const IndexRange&) const = default;
};

/// An index, or a range of them: what counts in one vendor's order alone.
bool is_index(std::string_view word);

/// What a list of numbers has in it: "0,2-3". There may be no GPUs of these indexes.
struct NumberList {
    std::vector<IndexRange> ranges;    ///< Ascending, with a gap between one and the next.
    std::set<std::string_view> others; ///< Words that are no numbers.

    bool operator==(const NumberList&) const = default;
};
NumberList read_numbers(std::string_view list);

/// Whether UUIDs begin with the word, which has too few characters to name one.
bool is_too_short(const model::DriverStack& driver, std::string_view word);

/// What is wrong with a word that was to be a range of indexes or a UUID, whatever GPUs
/// there are; "" where that is not clear.
std::string_view fault_in(std::string_view word);

/// The GPUs of a driver that a word names: an index or a range "0-3" of them, a UUID
/// or an unambiguous prefix of 8 characters, a PCI address in any of its forms, or a
/// name of the vendor's. What names a GPU names all its partitions. In the driver's
/// order. Errors: usage, without the word; the hint names what exists.
Result<std::vector<unsigned>> find_gpus(const model::DriverStack& driver, std::string_view word);

/// Which GPUs there are, for a hint.
std::string known_gpus(const model::DriverStack& driver);

} // namespace gpucontainer::plan

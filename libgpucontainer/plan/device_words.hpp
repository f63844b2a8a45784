// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Numbers from `first` to `last` inclusive.
struct IndexRange {
    unsigned first = 0;
    unsigned last = 0;

    bool operator==(const IndexRange&) const = default;
};

/// Whether it is an index, or a range of them. These are positions in one vendor's order.
bool is_index(std::string_view word);

/// The content of a list of numbers: "0,2-3". GPUs with these indexes need not exist.
struct NumberList {
    std::vector<IndexRange> ranges;    ///< Ascending, with a gap between one and the next.
    std::set<std::string_view> others; ///< Words that are not numbers.

    bool operator==(const NumberList&) const = default;
};
NumberList read_numbers(std::string_view list);

/// Whether the word is the beginning of a UUID, but too short to name a GPU.
bool is_too_short(const model::DriverStack& driver, std::string_view word);

/// What is wrong with a word that looks like a range of indexes or a UUID, whatever GPUs there are;
/// "" if that is unclear.
std::string_view fault_in(std::string_view word);

/// The GPUs of a driver that a word names, in the driver's order. The word is an index or a range
/// "0-3" of them, a UUID or an unambiguous prefix of at least 8 characters, a PCI address in any of
/// its forms, or a name that the vendor uses. A name of a GPU names all its partitions and
/// instances; one of an instance names its GPU too, whose nodes it needs. Errors, without the word:
/// usage, whose hint says what exists; requirement, if the kernel does not tell which instance it
/// is.
Result<std::vector<unsigned>> find_gpus(const model::DriverStack& driver, std::string_view word);

/// A hint, where variables choose none.
constexpr const char* name_gpus = "name GPUs with --device instead";

/// Which GPUs there are, for a hint.
std::string known_gpus(const model::DriverStack& driver);

} // namespace gpucontainer::plan

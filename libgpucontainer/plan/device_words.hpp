// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "vendor/driver.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// An index, or a range of them: what counts in one vendor's order alone.
bool is_index(std::string_view word);

/// The GPUs of a driver that a word names: an index or a range "0-3" of them, a UUID
/// or an unambiguous prefix of 8 characters, a PCI address in any of its forms, or a
/// name of the vendor's. What names a GPU names all its partitions. In the driver's
/// order. Errors: usage, naming what exists.
Result<std::vector<unsigned>> find_gpus(const vendor::DriverStack& driver, std::string_view word);

/// Which GPUs there are, for a hint.
std::string known_gpus(const vendor::DriverStack& driver);

} // namespace gpucontainer::plan

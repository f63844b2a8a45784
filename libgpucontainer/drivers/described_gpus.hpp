// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/maker.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

struct DescribedGpus {
    std::vector<model::Gpu> gpus; ///< In the maker's order; `minor` is the number of the device.
    model::Findings findings;
    std::string undriven; ///< Functions that the driver is not bound to, in words.
};

/// The GPUs of a maker that is data, but for those whose attributes cannot be read. Errors:
/// driver, where it cannot be told what is there, or where there are more than a record can
/// have.
Result<DescribedGpus> find_described_gpus(const config::Maker& maker,
                                          const std::string& system_root,
                                          host::Enumerator& enumerator);

/// Whether a text is a pattern with a number in place of `placeholder`; its digits are those
/// of that number alone.
std::optional<unsigned> number_in(std::string_view pattern, std::string_view placeholder,
                                  std::string_view text);

/// A pattern with that number; what has no placeholder is the same.
std::string with_number(std::string_view pattern, unsigned number);

} // namespace gpucontainer::drivers

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
    std::string undriven; ///< PCI functions that the driver is not bound to, for messages.
};

/// The GPUs of a described maker, except those whose attributes cannot be read. Errors: driver, if
/// it is unknown which there are, or there are more than a record can have.
Result<DescribedGpus> find_described_gpus(const config::Maker& maker,
                                          const std::string& system_root,
                                          host::Enumerator& enumerator);

/// The number that a text has in place of `placeholder` in a pattern; none if it does not match.
std::optional<unsigned> number_in(std::string_view pattern, std::string_view placeholder,
                                  std::string_view text);

/// A pattern with that number in place of its placeholder, if it has one.
std::string with_number(std::string_view pattern, unsigned number);

} // namespace gpucontainer::drivers

// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// Where the value of an option that was not typed comes from.
struct Origin {
    std::string place; ///< "GPUCTR_DEVICE", or "FILE:LINE: device".
    std::vector<std::string> values;
};

/// What went wrong with the value of an option, for somebody who typed no such option: the
/// place is in front, in place of "--OPTION" where the message begins with it.
std::string attributed(const std::string& message, const std::string& option,
                       const std::string& place);

/// The origins of a call's options, by their names.
class Origins {
public:
    void add(const std::string& option, Origin origin);
    /// Empty for an option that was typed, or has no value.
    std::string place_of(const std::string& option) const;
    /// The message of an error, with the place of the value that it is about in front.
    std::string explain(const std::string& message) const;

private:
    std::map<std::string, Origin> origins_;
};

} // namespace gpuctr_cli

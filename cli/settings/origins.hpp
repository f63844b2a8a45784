// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <map>
#include <string>

namespace gpuctr_cli {

/// What went wrong with the value of an option, for somebody who typed no such option: the
/// place is in front, in place of "--OPTION" where the message begins with it.
std::string attributed(const std::string& message, const std::string& option,
                       const std::string& place);

/// Where the values of options come from that were not typed.
class Origins {
public:
    /// `place` is "GPUCTR_DEVICE", or "FILE:LINE: device".
    void add(const std::string& option, const std::string& place);
    /// Empty for an option that was typed, or has no value.
    std::string place_of(const std::string& option) const;
    /// The message of an error, with the place of the value that it is about in front.
    std::string explain(const gpucontainer::Error& error) const;
    /// The option that an error is about, without dashes; or "".
    static std::string option_of(const gpucontainer::Error& error);
    /// The same of an argument of the library's: "devices" is that of --device.
    static std::string option_of(const std::string& argument);

private:
    std::map<std::string, std::string> places_; // by option
};

} // namespace gpuctr_cli

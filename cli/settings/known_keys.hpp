// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// Keys of the configuration, and whether each takes a list.
using Keys = std::map<std::string, bool>;

/// The keys that the options of one command after the other have, from 0; none behind the last.
using KeysOfCommand = std::optional<Keys> (*)(std::size_t command);

/// The keys that there are. Options of other commands than the called one are built only for
/// a key that it does not have.
class KnownKeys {
public:
    /// `called` has the keys of the called command, and of what is no option.
    KnownKeys(Keys called, KeysOfCommand others) : keys_(std::move(called)), others_(others) {}

    /// Whether the key takes a list; none of a key that there is not.
    std::optional<bool> takes_list(const std::string& key);
    std::vector<std::string> names();

private:
    bool add_next();

    Keys keys_;
    KeysOfCommand others_;
    std::size_t next_ = 0;
};

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::capture {

/// Replaces what identifies a machine or a person by made-up values: UUIDs, MAC addresses, serial
/// numbers, ids of containers, and names of the host, of users and of their directories. The same
/// value always gets the same replacement, so that texts still fit together. A replacement tells
/// nothing of its value: it is a number in the order of appearance.
class Replacements {
public:
    /// `keep`: nothing is replaced.
    explicit Replacements(bool keep) noexcept : keep_(keep) {}

    bool keeps_all() const noexcept { return keep_; }

    /// A text without them. What it has may be anything.
    std::string in(std::string_view text);

    /// The replacement of a serial number or the like, in the same form. From now on, it is also
    /// replaced in texts.
    std::string serial(std::string_view value);
    /// The same for a number that others write as sixteen hexadecimal digits.
    std::string number(std::string_view decimal);

    /// From now on, this word is replaced in texts. Short ones and common ones are not, because
    /// they tell nothing.
    void add_host_name(std::string_view name);
    void add_user_name(std::string_view name);

    /// What was replaced, for people: "8 UUIDs".
    std::vector<std::string> summary() const;

private:
    enum class Kind : unsigned char { uuid, mac, serial, container, host, user };

    const std::string& replacement(Kind kind, std::string_view value, std::string_view like);
    void add_word(std::string_view word, std::string_view replacement);
    std::string id_replacement(std::string_view id);
    std::string without_patterns(std::string_view text);
    std::string without_words(std::string_view text) const;

    bool keep_;
    std::map<Kind, std::size_t> counts_;
    std::map<std::string, std::string, std::less<>> known_;
    std::map<std::string, std::string, std::less<>> words_; ///< Replaced where they stand alone.
};

} // namespace gpucontainer::capture

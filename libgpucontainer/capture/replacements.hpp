// SPDX-License-Identifier: MIT
#pragma once

#include "capture/forms.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::capture {

/// Replaces what identifies a machine or a person by made-up values: UUIDs, MAC addresses, serial
/// numbers, ids of containers, and names of hosts, of users and of their directories. The same
/// value always gets the same replacement, so that texts still fit together; upper and lower case
/// are the same. A replacement tells nothing of its value: it is a number in the order of
/// appearance.
class Replacements {
public:
    /// `keep`: nothing is replaced.
    explicit Replacements(bool keep) noexcept : keep_(keep) {}

    bool keeps_all() const noexcept { return keep_; }

    /// What else a text has than those.
    enum class Text : unsigned char {
        any,
        settings, ///< Addresses of IP networks, and no versions, which look the same.
        groups,   ///< Paths of control groups: also addresses, and numbers of users and jobs.
    };

    /// A text without them. What it has may be anything.
    std::string in(std::string_view text, Text kind = Text::any);

    /// The replacement of a serial number or the like, in the same form. From now on, it is also
    /// replaced in texts.
    std::string serial(std::string_view value);
    /// The same for a number that others write as sixteen hexadecimal digits.
    std::string number(std::string_view decimal);

    /// From now on, this word is replaced in texts. Short ones and common ones are not, because
    /// they tell nothing.
    void add_host_name(std::string_view name);
    /// Of a domain with several parts, "cluster.example.org", also the names of its hosts.
    void add_domain(std::string_view name);
    void add_user_name(std::string_view name);

    /// What was replaced, for people: "8 UUIDs".
    std::vector<std::string> summary() const;

private:
    enum class Kind : unsigned char {
        uuid,
        mac,
        serial,
        container,
        host,
        domain,
        user,
        ip_address,
        user_number,
        job_number,
    };
    /// What is replaced in a text: its length there, and the replacement.
    struct Replaced {
        std::size_t length = 0;
        std::string made;
    };

    const std::string& replacement(Kind kind, std::string_view value, std::string_view like);
    void add_word(std::string_view word, std::string_view replacement);
    std::string made_for(const Identifier& id);
    std::string uuid_like(std::string_view value);
    std::string uuid_beginning(std::string_view value);
    Replaced replaced_at(std::string_view text, std::size_t at, Text kind);
    Replaced name_replaced_at(std::string_view text, std::size_t at);
    std::string without_patterns(std::string_view text, Text kind);
    std::string without_words(std::string_view text) const;

    bool keep_;
    std::map<Kind, std::size_t> counts_;
    // In lower case:
    std::map<std::string, std::string, std::less<>> known_;
    std::map<std::string, std::string, std::less<>> words_; ///< Replaced where they stand alone.
    std::vector<std::string> domains_;
};

} // namespace gpucontainer::capture

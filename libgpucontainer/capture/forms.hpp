// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace gpucontainer::capture {

/// What identifies something by its form alone.
enum class Form : unsigned char {
    none,
    uuid,        ///< "bc827fa3-8239-9aa5-d1ff-cd2c2f85b066", also with '_' for '-'.
    plain_uuid,  ///< Its 32 digits, as in a machine-id.
    octets,      ///< "a4:bf:01:6e:00:2d": a MAC address; longer ones are of InfiniBand.
    container,   ///< The 64 digits that engines give a container.
    ip4_address, ///< "10.1.2.3".
    ip6_address, ///< "fe80::1:2".
    user_number, ///< In the name of a control group: the number in "user-1000.slice".
    job_number,  ///< In the name of a control group: the number in "job_1234".
};

struct Identifier {
    Form form = Form::none;
    std::string_view text;
};

bool is_hex(char c);
bool is_of_word(char c);

/// What begins at this place of a text, and is not a part of something longer. UUIDs and the like
/// of zeros alone or of "f" alone are no identifiers.
Identifier id_at(std::string_view text, std::size_t at);
/// Addresses of IP networks. A version with four numbers has the same form: only for texts that
/// have none. Addresses of this host itself and of nothing are no identifiers, nor are those that
/// follow a single '/'.
Identifier address_at(std::string_view text, std::size_t at);
/// Numbers of users and jobs in the path of a control group.
Identifier group_number_at(std::string_view text, std::size_t at);

bool is_uuid(std::string_view text);
/// What follows "GPU-" and "MIG-" at this place, if it is the beginning of a UUID, but not all of
/// it; "" otherwise.
std::string_view uuid_beginning_at(std::string_view text, std::size_t at);
/// The name of a user that follows "/home/" or the like at this place; "" if there is none. `start`
/// is the length of that.
std::string_view user_at(std::string_view text, std::size_t at, std::size_t& start);
/// The name of a host that ends in this domain and begins at this place; "" if there is none.
std::string_view host_at(std::string_view text, std::size_t at, std::string_view domain);

} // namespace gpucontainer::capture

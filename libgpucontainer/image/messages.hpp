// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::image {

/// What the process that reads an image is asked, and answers.
enum class Question : std::uint32_t { root, inode, list, read, variables };

struct Request {
    Question question = Question::root;
    std::uint32_t size = 0; ///< For `read`.
    Reference place = 0;
    std::uint64_t offset = 0; ///< For `read`.
};

/// Before each answer.
struct Header {
    std::int32_t error =
        0; ///< For error_of(), and what follows is the detail; negative: no reader.
    std::uint32_t size = 0; ///< Of what follows.
};

constexpr std::size_t largest_answer = std::size_t{64} << 20U;

std::string to_text(Reference place);
std::string to_text(const Inode& inode);
std::string to_text(const std::vector<Name>& names);
std::string to_text(const std::vector<std::string>& variables);

/// These read the answer of a process that a hostile image may have taken over. Names are in order,
/// and each is one component of a path; variables have a name. Errors: EBADMSG.
Result<Reference> read_reference(std::string_view text);
Result<Inode> read_inode(std::string_view text);
Result<std::vector<Name>> read_names(std::string_view text);
Result<std::vector<std::string>> read_variables(std::string_view text);

} // namespace gpucontainer::image

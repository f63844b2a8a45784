// SPDX-License-Identifier: MIT
#include "image/messages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gpucontainer::image {
namespace {

using rootfs::EntryType;

struct InodeText {
    std::uint64_t size;
    std::uint32_t mtime;
    std::uint32_t mode;
    EntryType type;
};

struct NameText {
    std::uint64_t inode;
    std::uint32_t length;
    EntryType type;
};

template <typename T>
void put(std::string& text, const T& value)
{
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes a value from the front of the text. False if there are too few bytes.
template <typename T>
bool take(std::string_view& text, T& value)
{
    if (text.size() < sizeof value)
        return false;
    std::memcpy(&value, text.data(), sizeof value);
    text.remove_prefix(sizeof value);
    return true;
}

bool is_type(EntryType type) { return type > EntryType::none && type <= EntryType::other; }

bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= longest_name && name != "." && name != ".."
           && name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

} // namespace

std::string to_text(Reference place)
{
    std::string text;
    put(text, place);
    return text;
}

std::string to_text(const Inode& inode)
{
    InodeText fixed = {};
    fixed.size = inode.size;
    fixed.mtime = inode.mtime;
    fixed.mode = inode.mode;
    fixed.type = inode.type;
    std::string text;
    put(text, fixed);
    return text + inode.target;
}

std::string to_text(const std::vector<Name>& names)
{
    std::string text;
    for (const Name& name : names) {
        NameText fixed = {};
        fixed.inode = name.inode;
        fixed.length = static_cast<std::uint32_t>(name.name.size());
        fixed.type = name.type;
        put(text, fixed);
        text += name.name;
    }
    return text;
}

std::string to_text(const std::vector<std::string>& variables)
{
    std::string text;
    for (const std::string& variable : variables)
        text.append(variable).append(1, '\0');
    return text;
}

Result<Reference> read_reference(std::string_view text)
{
    Reference place = 0;
    if (!take(text, place) || !text.empty())
        return error_of(EBADMSG);
    return place;
}

Result<Inode> read_inode(std::string_view text)
{
    InodeText fixed = {};
    if (!take(text, fixed) || !is_type(fixed.type) || text.size() > longest_target)
        return error_of(EBADMSG);
    Inode inode;
    inode.type = fixed.type;
    inode.mode = fixed.mode & 07777U;
    inode.size = fixed.size;
    inode.mtime = fixed.mtime;
    inode.target = text.substr(0, text.find('\0'));
    return inode;
}

Result<std::vector<Name>> read_names(std::string_view text)
{
    std::vector<Name> names;
    while (!text.empty()) {
        NameText fixed = {};
        if (!take(text, fixed) || !is_type(fixed.type) || fixed.length > text.size()
            || !is_name(text.substr(0, fixed.length)) || names.size() == most_names)
            return error_of(EBADMSG);
        names.push_back({std::string(text.substr(0, fixed.length)), fixed.inode, fixed.type});
        text.remove_prefix(fixed.length);
        const std::size_t count = names.size();
        if (count > 1 && names[count - 2].name >= names[count - 1].name)
            return error_of(EBADMSG);
    }
    return names;
}

Result<std::vector<std::string>> read_variables(std::string_view text)
{
    std::vector<std::string> variables;
    while (!text.empty()) {
        const std::size_t end = text.find('\0');
        const std::size_t equals = text.find('=');
        if (end == std::string_view::npos || equals == 0 || equals >= end
            || variables.size() == most_image_variables)
            return error_of(EBADMSG);
        variables.emplace_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return variables;
}

} // namespace gpucontainer::image

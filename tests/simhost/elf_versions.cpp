// SPDX-License-Identifier: MIT
#include "elf_versions.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <elf.h>
#include <gnu/libc-version.h>
#include <utility>

namespace gpucontainer::simhost {
namespace {

struct Definer {
    std::string_view prefix;  ///< Of the version's name.
    std::string_view library; ///< The soname begins with it.
};

constexpr std::array definers = {
    Definer{"GLIBC_", "libc.so."},        Definer{"ELFUTILS_", "libelf.so."},
    Definer{"GCC_", "libgcc_s.so."},      Definer{"CXXABI_", "libstdc++.so."},
    Definer{"GLIBCXX_", "libstdc++.so."},
};

/// N of "2.N" or "GLIBC_2.N"; 0 for everything else.
std::uint64_t minor_of(std::string_view version)
{
    const auto dot = version.find("2.");
    if (dot == std::string_view::npos)
        return 0;
    const std::string_view rest = version.substr(dot + 2);
    return base::to_number(rest.substr(0, rest.find('.'))).value_or(0);
}

/// True for versions that the C library of this process is known to define.
bool is_certain(std::string_view version)
{
    return version.starts_with("GLIBC_2.") && minor_of(version) != 0
           && minor_of(version) <= minor_of(::gnu_get_libc_version());
}

bool defines(std::string_view library, std::string_view version)
{
    return std::any_of(definers.begin(), definers.end(), [&](const Definer& definer) {
        return version.starts_with(definer.prefix) && library.starts_with(definer.library);
    });
}

std::uint32_t elf_hash(std::string_view name)
{
    std::uint32_t hash = 0;
    for (const char c : name) {
        hash = (hash << 4U) + static_cast<unsigned char>(c);
        const std::uint32_t high = hash & 0xf0000000U;
        hash = (hash ^ (high >> 24U)) & ~high;
    }
    return hash;
}

template <typename Value>
void append(std::string& to, const Value& value)
{
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// One Verneed with its Vernaux entries, which Elf32 and Elf64 lay out alike;
/// empty when the library defines none of the versions.
std::string needs_of(const std::string& library, const std::vector<std::string>& versions,
                     bool strict, std::uint16_t& index, StringTable& strings)
{
    std::vector<Elf64_Vernaux> entries;
    for (const std::string& version : versions) {
        if (!defines(library, version))
            continue;
        Elf64_Vernaux entry = {};
        entry.vna_hash = elf_hash(version);
        entry.vna_flags = strict || is_certain(version) ? 0 : VER_FLG_WEAK;
        entry.vna_other = index++;
        entry.vna_name = strings.add(version);
        entry.vna_next = sizeof entry;
        entries.push_back(entry);
    }
    if (entries.empty())
        return {};
    entries.back().vna_next = 0;
    Elf64_Verneed file = {};
    file.vn_version = VER_NEED_CURRENT;
    file.vn_cnt = static_cast<std::uint16_t>(entries.size());
    file.vn_file = strings.add(library);
    file.vn_aux = sizeof file;
    std::string part;
    append(part, file);
    for (const Elf64_Vernaux& entry : entries)
        append(part, entry);
    return part;
}

} // namespace

std::uint32_t StringTable::add(std::string_view text)
{
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(text).push_back('\0');
    return offset;
}

VersionNeeds make_version_needs(const std::vector<std::string>& needed,
                                const std::vector<std::string>& versions, bool strict,
                                StringTable& strings)
{
    constexpr std::uint16_t first_index = 2; // 0 and 1 mean local and global
    std::uint16_t index = first_index;
    std::vector<std::string> parts;
    for (const std::string& library : needed)
        if (auto part = needs_of(library, versions, strict, index, strings); !part.empty())
            parts.push_back(std::move(part));

    VersionNeeds needs;
    needs.files = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto next = static_cast<std::uint32_t>(i + 1 < parts.size() ? parts[i].size() : 0);
        parts[i].replace(offsetof(Elf64_Verneed, vn_next), sizeof next,
                         reinterpret_cast<const char*>(&next), sizeof next);
        needs.bytes += parts[i];
    }
    return needs;
}

std::string make_version_definitions(const std::vector<std::string>& versions, StringTable& strings)
{
    std::string bytes;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        Elf64_Verdef definition = {};
        Elf64_Verdaux name = {};
        definition.vd_version = VER_DEF_CURRENT;
        definition.vd_flags = i == 0 ? VER_FLG_BASE : 0;
        definition.vd_ndx = static_cast<std::uint16_t>(i + 1);
        definition.vd_cnt = 1;
        definition.vd_hash = elf_hash(versions[i]);
        definition.vd_aux = sizeof definition;
        definition.vd_next = i + 1 < versions.size() ? sizeof definition + sizeof name : 0;
        name.vda_name = strings.add(versions[i]);
        append(bytes, definition);
        append(bytes, name);
    }
    return bytes;
}

} // namespace gpucontainer::simhost

// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

/// The bytes of a loader cache, as glibc's ldconfig writes them: header,
/// entries, strings, extensions. All numbers in the byte order of the machine.
namespace gpucontainer::elf::format {

inline constexpr std::string_view magic = "glibc-ld.so.cache1.1";
inline constexpr std::string_view old_magic = "ld.so-1.7.0";

struct Header {
    std::array<char, 20> magic;
    std::uint32_t count;
    std::uint32_t strings_size;
    std::uint8_t byte_order; ///< 0 before glibc 2.33
    std::array<std::uint8_t, 3> padding;
    std::uint32_t extensions; ///< offset in the file, 0 for none
    std::array<std::uint32_t, 3> unused;
};
static_assert(sizeof(Header) == 48);

struct Entry {
    std::int32_t flags;
    std::uint32_t key;   ///< string offset from the start of the header
    std::uint32_t value; ///< the same
    std::uint32_t os_version;
    std::uint64_t hwcap;
};
static_assert(sizeof(Entry) == 24);

struct OldHeader {
    std::array<char, 12> magic;
    std::uint32_t count;
};
static_assert(sizeof(OldHeader) == 16);

struct OldEntry {
    std::int32_t flags;
    std::uint32_t key; ///< string offset from the end of the entries
    std::uint32_t value;
};
static_assert(sizeof(OldEntry) == 12);

struct ExtensionHeader {
    std::uint32_t magic;
    std::uint32_t count;
};

struct ExtensionSection {
    std::uint32_t tag;
    std::uint32_t flags;
    std::uint32_t offset; ///< from the start of the file
    std::uint32_t size;
};
static_assert(sizeof(ExtensionSection) == 16);

inline constexpr std::uint32_t extension_magic = 0xeaa42174;
inline constexpr std::uint32_t generator_tag = 0; ///< text without NUL
inline constexpr std::uint32_t hwcaps_tag = 1;    ///< string offsets, names ascending

inline constexpr std::uint8_t own_byte_order = std::endian::native == std::endian::little ? 2 : 3;

/// An entry of a glibc-hwcaps directory has bit 62 set and the index of the
/// directory's name below; bits 32 to 41 hold the ISA level.
constexpr bool is_hwcaps_extension(std::uint64_t hwcap)
{
    constexpr std::uint64_t level_bits = 0x3ff;
    constexpr std::uint64_t extension_bit = std::uint64_t{1} << 30U;
    return ((hwcap >> 32U) & ~level_bits) == extension_bit;
}

} // namespace gpucontainer::elf::format

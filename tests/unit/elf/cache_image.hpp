// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache.hpp"
#include "elf/ld_cache_format.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::test {

/// A loader cache put together by hand, in the order given and with whatever
/// nonsense a test writes into it.
///
///     CacheImage image;
///     image.add("libz.so.1", "/usr/lib/libz.so.1");
///     auto cache = elf::LdCache::parse(image.bytes());
class CacheImage {
public:
    CacheImage()
    {
        std::ranges::copy(elf::format::magic, header.magic.begin());
        header.byte_order = elf::format::own_byte_order;
    }

    /// Offset of `text` in the string table.
    std::uint32_t string(std::string_view text)
    {
        const auto offset = static_cast<std::uint32_t>(strings.size());
        strings.append(text).push_back('\0');
        return offset;
    }

    void add(std::string_view key, std::string_view value,
             std::int32_t flags = elf::native_cache_flags, std::uint64_t hwcap = 0)
    {
        const auto key_offset = string(key);
        entries.push_back({flags, key_offset, string(value), 0, hwcap});
    }

    std::string bytes()
    {
        header.count = static_cast<std::uint32_t>(entries.size());
        header.strings_size = static_cast<std::uint32_t>(strings.size());
        return raw_bytes();
    }

    /// With the header as it is.
    std::string raw_bytes() const
    {
        const auto base = static_cast<std::uint32_t>(sizeof header + entries.size() * 24);
        std::string result(reinterpret_cast<const char*>(&header), sizeof header);
        for (auto entry : entries) {
            entry.key += base;
            entry.value += base;
            result.append(reinterpret_cast<const char*>(&entry), sizeof entry);
        }
        return result.append(strings);
    }

    /// bytes() and an extension directory with these words behind it.
    std::string bytes_with_extensions(const std::vector<std::uint32_t>& words)
    {
        std::string result = bytes();
        result.resize((result.size() + 3) / 4 * 4);
        const auto offset = static_cast<std::uint32_t>(result.size());
        std::memcpy(result.data() + offsetof(elf::format::Header, extensions), &offset, 4);
        return result.append(reinterpret_cast<const char*>(words.data()), words.size() * 4);
    }

    elf::format::Header header = {};
    std::vector<elf::format::Entry> entries;
    std::string strings;
};

} // namespace gpucontainer::test

// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::test {

/// A tar, header by header, also such as no program writes.
class TarImage {
public:
    /// One header as it is, and what follows it.
    TarImage& raw(std::string header, std::string_view content = {})
    {
        set_checksum(header);
        bytes_ += header;
        bytes_ += content;
        bytes_.resize((bytes_.size() + block - 1) / block * block);
        return *this;
    }
    TarImage& add(char kind, std::string_view path, std::string_view content = {},
                  std::string_view target = {})
    {
        return raw(header(kind, path, content.size(), target), content);
    }
    TarImage& file(std::string_view path, std::string_view content = "content")
    {
        return add('0', path, content);
    }
    TarImage& directory(std::string_view path) { return add('5', path); }
    TarImage& link(std::string_view path, std::string_view target)
    {
        return add('2', path, {}, target);
    }
    TarImage& hard_link(std::string_view path, std::string_view target)
    {
        return add('1', path, {}, target);
    }
    /// Records of pax for the next header.
    TarImage& records(std::string_view text, char kind = 'x') { return add(kind, "records", text); }

    std::string bytes() const { return bytes_ + std::string(2 * block, '\0'); }
    /// Without the blocks at the end.
    const std::string& open_end() const { return bytes_; }

    static std::string header(char kind, std::string_view path, std::uint64_t size,
                              std::string_view target = {})
    {
        std::string header(block, '\0');
        header.replace(0, path.size(), path);
        header.replace(100, 7, "0000644");
        header.replace(124, 11, base::format("{:011o}", size));
        header.replace(136, 11, "00000001234");
        header[156] = kind;
        header.replace(157, target.size(), target);
        header.replace(257, 8,
                       std::string_view("ustar\0"
                                        "00",
                                        8));
        return header;
    }

    static void set_checksum(std::string& header)
    {
        header.replace(148, 8, "        ");
        unsigned sum = 0;
        for (const char byte : header)
            sum += static_cast<unsigned char>(byte);
        header.replace(148, 7, base::format("{:06o}", sum) + std::string(1, '\0'));
    }

    /// A record of pax, with its length.
    static std::string record(std::string_view key, std::string_view value)
    {
        const std::size_t rest = key.size() + value.size() + 3;
        std::size_t length = rest + 1;
        while (std::to_string(length).size() + rest != length)
            ++length;
        return base::format("{} {}={}\n", length, key, value);
    }

    static constexpr std::size_t block = 512;

private:
    std::string bytes_;
};

} // namespace gpucontainer::test

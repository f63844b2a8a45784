// SPDX-License-Identifier: MIT
#include "drivers/nvidia/gpu_code.hpp"

#include "base/text.hpp"
#include "elf/sections.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace gpucontainer::drivers::nvidia {
namespace {

constexpr std::array<std::string_view, 2> code_sections = {".nv_fatbin", "__nv_relfatbin"};

constexpr std::uint32_t container_magic = 0xBA55ED50;
constexpr std::uint64_t container_header = 16;
constexpr std::uint64_t entry_header = 64;           ///< The smallest one.
constexpr std::uint64_t largest_entry_header = 4096; ///< Those of CUDA 13 have 112 bytes.
constexpr std::uint64_t alignment = 8;
/// Between one container and the next may be zeros, so that it begins at an address of some kind.
constexpr std::uint64_t longest_gap = 4096;

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_machine = 2;
constexpr std::uint16_t kind_machine_alternative = 16;

// Where fields are in the headers, which are little endian.
constexpr std::size_t container_size_at = 8;
constexpr std::size_t entry_kind_at = 0;
constexpr std::size_t entry_header_size_at = 4;
constexpr std::size_t entry_size_at = 8;
constexpr std::size_t entry_architecture_at = 28;

/// What CUDA before 13 called the architecture 110.
constexpr unsigned early_thor = 101;
constexpr unsigned thor = 110;

constexpr unsigned most_architecture = 999;

/// Parts of a library are built for the same architectures, with few exceptions. Each part has an
/// entry for each of up to a dozen.
constexpr std::size_t good_part = 64;

/// A part of a file, a few hundred bytes of which are in memory. pread tells that a file was
/// truncated by an error, and not by SIGBUS.
class Window {
public:
    Window(base::FileRef file, const elf::Section& section) : file_(file), section_(section) {}

    /// The bytes at `offset` of the section; null if it, or the file, ends before.
    const unsigned char* at(std::uint64_t offset, std::size_t size)
    {
        if (size > bytes_.size() || offset > section_.size || size > section_.size - offset)
            return nullptr;
        if (offset < start_ || offset - start_ > filled_ || size > filled_ - (offset - start_))
            fill(offset);
        return offset - start_ <= filled_ && size <= filled_ - (offset - start_)
                   ? bytes_.data() + (offset - start_)
                   : nullptr;
    }

    std::uint64_t size() const { return section_.size; }

private:
    void fill(std::uint64_t offset)
    {
        start_ = offset;
        const auto size = static_cast<std::size_t>(
            std::min<std::uint64_t>(bytes_.size(), section_.size - offset));
        filled_ = 0;
        if (!file_.fetch(section_.offset + offset, size))
            return;
        ssize_t got = 0;
        do
            got = ::pread(file_.fd(), bytes_.data(), size,
                          static_cast<off_t>(section_.offset + offset));
        while (got < 0 && errno == EINTR);
        filled_ = got < 0 ? 0 : static_cast<std::size_t>(got);
    }

    base::FileRef file_;
    elf::Section section_;
    std::array<unsigned char, 256> bytes_ = {};
    std::uint64_t start_ = 0;
    std::size_t filled_ = 0;
};

template <typename Number>
Number number_at(const unsigned char* bytes, std::size_t offset)
{
    Number number = 0;
    std::memcpy(&number, bytes + offset, sizeof number);
    return number;
}

class Walk {
public:
    Walk(GpuCode& code, std::span<const unsigned> wanted, std::size_t& budget)
        : code_(code), wanted_(wanted), budget_(budget)
    {
    }

    /// Whether more may be found.
    bool goes_on() const { return budget_ > 0 && !is_satisfied(); }

    void section(Window& window)
    {
        std::uint64_t offset = 0;
        while (goes_on() && skip_gap(window, offset)) {
            const unsigned char* const header = window.at(offset, container_header);
            const auto size = number_at<std::uint64_t>(header, container_size_at);
            offset += container_header;
            --budget_; // a container may be empty, and there may be many
            if (size > window.size() - offset) {
                code_.complete = false;
                return;
            }
            container(window, offset, offset + size);
            offset += size;
        }
        if (budget_ == 0)
            code_.cut_off = true;
    }

private:
    bool is_satisfied() const
    {
        return !wanted_.empty() && std::ranges::all_of(wanted_, [&](unsigned architecture) {
            return fit_of(code_, architecture) == Fit::direct;
        });
    }

    /// Moves to the next container. False if there is none, which is an end like any other if only
    /// a gap is left.
    bool skip_gap(Window& window, std::uint64_t& offset)
    {
        const std::uint64_t start = offset;
        offset += (alignment - offset % alignment) % alignment;
        for (; offset - start <= longest_gap; offset += alignment) {
            const unsigned char* const bytes = window.at(offset, container_header);
            if (bytes == nullptr) { // the end, or it cannot be read
                code_.complete = code_.complete && offset + container_header > window.size();
                return false;
            }
            if (number_at<std::uint32_t>(bytes, 0) == container_magic)
                return true;
        }
        code_.complete = false;
        return false;
    }

    void container(Window& window, std::uint64_t offset, std::uint64_t end)
    {
        while (goes_on() && end - offset >= entry_header) {
            const unsigned char* const header = window.at(offset, entry_header);
            if (header == nullptr)
                break;
            --budget_;
            ++code_.entries;
            const std::uint64_t own = number_at<std::uint32_t>(header, entry_header_size_at);
            const auto size = number_at<std::uint64_t>(header, entry_size_at);
            if (own < entry_header || own > largest_entry_header || own > end - offset
                || size > end - offset - own)
                break;
            keep(number_at<std::uint16_t>(header, entry_kind_at),
                 number_at<std::uint32_t>(header, entry_architecture_at));
            offset += own + size;
        }
        if (end - offset >= entry_header && goes_on())
            code_.complete = false;
    }

    void keep(std::uint16_t kind, std::uint32_t architecture)
    {
        const bool is_machine = kind == kind_machine || kind == kind_machine_alternative;
        if ((!is_machine && kind != kind_ptx) || architecture == 0
            || architecture > most_architecture) {
            code_.complete = false;
            return;
        }
        const unsigned known = architecture == early_thor ? thor : architecture;
        (is_machine ? code_.machine : code_.translated).insert(known);
    }

    GpuCode& code_;
    std::span<const unsigned> wanted_;
    std::size_t& budget_;
};

} // namespace

Fit fit_of(const GpuCode& code, unsigned architecture)
{
    constexpr unsigned ten = 10; // 103 is major number 10, minor number 3
    const auto machine = code.machine.upper_bound(architecture);
    if (machine != code.machine.begin() && *std::prev(machine) / ten == architecture / ten)
        return Fit::direct;
    if (!code.translated.empty() && *code.translated.begin() <= architecture)
        return Fit::translated;
    if (code.empty() || !code.complete || (code.cut_off && code.entries < good_part))
        return Fit::unknown;
    return code.cut_off ? Fit::unlikely : Fit::none;
}

unsigned architecture_number(std::string_view capability)
{
    constexpr std::uint64_t ten = 10;
    const auto dot = capability.find('.');
    if (dot == std::string_view::npos)
        return 0;
    const auto major = base::to_number(capability.substr(0, dot));
    const auto minor = base::to_number(capability.substr(dot + 1));
    if (!major || !minor || *minor >= ten || *major > most_architecture / ten)
        return 0;
    return static_cast<unsigned>(*major * ten + *minor);
}

GpuCode read_gpu_code(base::FileRef file, std::span<const unsigned> wanted, std::size_t& budget)
{
    GpuCode code;
    const auto sections = elf::find_sections(file, code_sections);
    if (!sections)
        return code;
    Walk walk(code, wanted, budget);
    for (const elf::Section& section : *sections) {
        Window window(file, section);
        walk.section(window);
    }
    return code;
}

} // namespace gpucontainer::drivers::nvidia

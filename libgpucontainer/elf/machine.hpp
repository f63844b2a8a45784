// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <elf.h>
#include <string_view>

namespace gpucontainer::elf {

/// An architecture: what its ELF files are, and where its loader finds libraries.
struct Machine {
    std::string_view name; ///< As `uname -m` prints it: "x86_64".
    std::uint16_t number;  ///< EM_*
    Facts::Class elf_class;
    std::int32_t cache_flags;   ///< Of its libraries in a loader cache.
    std::string_view loader;    ///< Of glibc. Each processor's ABI supplement has its path.
    std::string_view multiarch; ///< Debian's name, of directories: "x86_64-linux-gnu".
    std::string_view platform;  ///< What the loader replaces $PLATFORM by.
};

/// Architectures that libraries of a driver can be for. All have the same byte order.
inline constexpr std::array machines = {
    Machine{"x86_64", EM_X86_64, Facts::Class::elf64, 0x0303, "/lib64/ld-linux-x86-64.so.2",
            "x86_64-linux-gnu", "x86_64"},
    Machine{"aarch64", EM_AARCH64, Facts::Class::elf64, 0x0a03, "/lib/ld-linux-aarch64.so.1",
            "aarch64-linux-gnu", "aarch64"},
    // The last of these processors that a driver was made for is POWER9.
    Machine{"ppc64le", EM_PPC64, Facts::Class::elf64, 0x0503, "/lib64/ld64.so.2",
            "powerpc64le-linux-gnu", "power9"},
    Machine{"riscv64", EM_RISCV, Facts::Class::elf64, 0x1003, "/lib/ld-linux-riscv64-lp64d.so.1",
            "riscv64-linux-gnu", ""},
    Machine{"loongarch64", EM_LOONGARCH, Facts::Class::elf64, 0x1203,
            "/lib64/ld-linux-loongarch-lp64d.so.1", "loongarch64-linux-gnu", ""},
};

/// What their 32-bit programs are for, where a driver has libraries for these.
inline constexpr Machine i386 = {
    "i386", EM_386, Facts::Class::elf32, 0x0003, "/lib/ld-linux.so.2", "i386-linux-gnu", "i686"};
inline constexpr Machine armhf = {
    "armhf", EM_ARM, Facts::Class::elf32, 0x0903, "/lib/ld-linux-armhf.so.3", "arm-linux-gnueabihf",
    "v7l"};

/// Null if it is not known.
constexpr const Machine* find_machine(std::string_view name) noexcept
{
    for (const Machine& machine : machines)
        if (machine.name == name)
            return &machine;
    return nullptr;
}

/// The one that this library was built for.
constexpr const Machine& own_machine() noexcept
{
    static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8);
#if defined(__x86_64__)
    return *find_machine("x86_64");
#elif defined(__aarch64__)
    return *find_machine("aarch64");
#elif defined(__powerpc64__)
    return *find_machine("ppc64le");
#elif defined(__riscv)
    return *find_machine("riscv64");
#elif defined(__loongarch__)
    return *find_machine("loongarch64");
#else
#error "the table of architectures lacks this one"
#endif
}

/// The machine of the 32-bit programs that run beside those of `machine`; null if a driver has no
/// libraries for them.
constexpr const Machine* compat32_of(const Machine& machine) noexcept
{
    if (machine.number == EM_X86_64)
        return &i386;
    return machine.number == EM_AARCH64 ? &armhf : nullptr;
}

/// The machine of the programs that load such a library. Null as above.
constexpr const Machine* machine_for(const Machine& machine, bool compat32) noexcept
{
    return compat32 ? compat32_of(machine) : &machine;
}

/// Whether programs of the machine can load or execute the file.
constexpr bool is_for(const Facts& facts, const Machine& machine) noexcept
{
    return facts.elf_class == machine.elf_class && facts.byte_order == std::endian::little
           && facts.machine == machine.number;
}

} // namespace gpucontainer::elf

// SPDX-License-Identifier: MIT
#include "elf_stub.hpp"

#include "support/temp_root.hpp"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <optional>

namespace gpucontainer::simhost {
namespace {

constexpr const char* own_machine =
#ifdef __aarch64__
    "AArch64";
#else
    "Advanced Micro Devices X86-64";
#endif

template <typename T>
T at(const std::string& bytes, std::size_t offset)
{
    T value = {};
    if (offset + sizeof value <= bytes.size())
        std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::vector<std::uint32_t> segment_types(const std::string& bytes)
{
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    std::vector<std::uint32_t> types;
    for (std::size_t i = 0; i < header.e_phnum; ++i)
        types.push_back(at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr)).p_type);
    return types;
}

/// Values of a tag in the dynamic segment, in their order.
std::vector<Elf64_Xword> values(const std::string& bytes, Elf64_Sxword tag)
{
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    std::vector<Elf64_Xword> found;
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        const auto segment = at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
        for (std::size_t offset = 0; segment.p_type == PT_DYNAMIC && offset < segment.p_filesz;
             offset += sizeof(Elf64_Dyn)) {
            const auto entry = at<Elf64_Dyn>(bytes, segment.p_offset + offset);
            if (entry.d_tag == tag)
                found.push_back(entry.d_un.d_val);
        }
    }
    return found;
}

std::vector<std::string> names(const std::string& bytes, Elf64_Sxword tag)
{
    const auto table = values(bytes, DT_STRTAB);
    std::vector<std::string> found;
    for (const Elf64_Xword offset : values(bytes, tag))
        found.emplace_back(bytes.c_str() + table.at(0) + offset);
    return found;
}

ElfStub library()
{
    return {StubKind::library,          "ELF64", own_machine, "libgpuctr-stub.so.1",
            {"libc.so.6", "libm.so.6"}, {}};
}

std::string made(const ElfStub& stub)
{
    auto bytes = make_elf_stub(stub);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *std::move(bytes) : std::string();
}

TEST(ElfStubTest, ShowsSonameAndNeededLibraries)
{
    const std::string bytes = made(library());

    EXPECT_EQ(bytes.substr(0, 4), ELFMAG);
    EXPECT_EQ(at<Elf64_Ehdr>(bytes, 0).e_type, ET_DYN);
    EXPECT_THAT(segment_types(bytes), testing::ElementsAre(PT_LOAD, PT_DYNAMIC, PT_GNU_STACK));
    EXPECT_THAT(values(bytes, DT_HASH), testing::SizeIs(1));
    EXPECT_THAT(values(bytes, DT_SYMTAB), testing::SizeIs(1));
    EXPECT_THAT(names(bytes, DT_SONAME), testing::ElementsAre("libgpuctr-stub.so.1"));
    EXPECT_THAT(names(bytes, DT_NEEDED), testing::ElementsAre("libc.so.6", "libm.so.6"));
}

TEST(ElfStubTest, IsLoadedWhateverVersionsItNeeds)
{
    ElfStub stub = library();
    stub.versions = {"GLIBC_2.17", "GLIBC_2.99", "GLIBC_PRIVATE", "CXXABI_1.3"};
    test::TempRoot root;
    root.file("libgpuctr-stub.so.1", made(stub));
    std::filesystem::resize_file(root.at("libgpuctr-stub.so.1"), 50'000'000); // with a hole

    void* handle = ::dlopen(root.at("libgpuctr-stub.so.1").c_str(), RTLD_NOW);

    ASSERT_NE(handle, nullptr) << ::dlerror();
    EXPECT_EQ(::dlclose(handle), 0);
}

TEST(ElfStubTest, SaysWhichVersionsItNeedsOfWhom)
{
    ElfStub stub = library();
    stub.versions = {"GLIBC_2.17", "CXXABI_1.3"}; // it does not need libstdc++
    const std::string bytes = made(stub);

    ASSERT_THAT(values(bytes, DT_VERNEEDNUM), testing::ElementsAre(1));
    const auto need = at<Elf64_Verneed>(bytes, values(bytes, DT_VERNEED).at(0));
    const auto aux = at<Elf64_Vernaux>(bytes, values(bytes, DT_VERNEED).at(0) + need.vn_aux);
    const auto table = values(bytes, DT_STRTAB).at(0);
    EXPECT_EQ(need.vn_cnt, 1);
    EXPECT_STREQ(bytes.c_str() + table + need.vn_file, "libc.so.6");
    EXPECT_STREQ(bytes.c_str() + table + aux.vna_name, "GLIBC_2.17");
}

TEST(ElfStubTest, GivesAnExecutableItsInterpreter)
{
    ElfStub stub = library();
    stub.kind = StubKind::executable;
    stub.soname.clear();
    const std::string bytes = made(stub);

    EXPECT_THAT(segment_types(bytes),
                testing::ElementsAre(PT_PHDR, PT_INTERP, PT_LOAD, PT_DYNAMIC, PT_GNU_STACK));
    EXPECT_NE(at<Elf64_Ehdr>(bytes, 0).e_entry, 0U);
    EXPECT_THAT(names(bytes, DT_SONAME), testing::IsEmpty());
}

TEST(ElfStubTest, WritesOnlyAHeaderForFirmwareAndModules)
{
    const ElfStub firmware = {StubKind::header_only, "ELF64", "RISC-V", {}, {}, {}};
    const ElfStub module = {StubKind::module, "ELF64", own_machine, {}, {}, {}};

    EXPECT_EQ(made(firmware).size(), sizeof(Elf64_Ehdr));
    EXPECT_EQ(at<Elf64_Ehdr>(made(firmware), 0).e_machine, EM_RISCV);
    EXPECT_EQ(at<Elf64_Ehdr>(made(module), 0).e_type, ET_REL);
}

TEST(ElfStubTest, WritesThirtyTwoBitFiles)
{
    const std::string bytes =
        made({StubKind::library, "ELF32", "Intel 80386", "libx.so.1", {"libc.so.6"}, {}});

    EXPECT_EQ(bytes.at(EI_CLASS), ELFCLASS32);
    const auto header = at<Elf32_Ehdr>(bytes, 0);
    EXPECT_EQ(header.e_machine, EM_386);
    EXPECT_EQ(at<Elf32_Phdr>(bytes, header.e_phoff).p_type, static_cast<Elf32_Word>(PT_LOAD));
}

TEST(ElfStubTest, RefusesWhatItDoesNotKnow)
{
    ElfStub stub = library();
    stub.machine = "PDP-11";
    EXPECT_EQ(make_elf_stub(stub).error().message(), "ELF machine 'PDP-11' is not known");
    stub = library();
    stub.elf_class = "ELF16";
    EXPECT_EQ(make_elf_stub(stub).error().message(), "ELF class 'ELF16' is not known");
}

} // namespace
} // namespace gpucontainer::simhost

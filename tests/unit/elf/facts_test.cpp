// SPDX-License-Identifier: MIT
#include "elf/facts.hpp"

#include "elf/machine.hpp"
#include "unit/elf/elf_image.hpp"

#include <array>
#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace gpucontainer::elf {
namespace {

using test::ElfImage;
using test::memory_file;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

base::UniqueFd open_file(const char* path)
{
    return base::UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
}

/// The C library that this test runs with.
base::UniqueFd open_libc()
{
    Dl_info info = {};
    ::dladdr(reinterpret_cast<void*>(&::getenv), &info);
    return open_file(info.dli_fname);
}

ElfImage<> example()
{
    ElfImage<> image;
    image.add(DT_SONAME, image.string("libcuda.so.1"));
    image.add(DT_NEEDED, image.string("libc.so.6"));
    image.add(DT_NEEDED, image.string("libm.so.6"));
    image.add(DT_RUNPATH, image.string("$ORIGIN:/opt/lib"));
    return image;
}

Result<Facts> facts_of(std::string_view bytes) { return read_facts(memory_file(bytes).get()); }

std::string problem_of(std::string_view bytes)
{
    const auto facts = facts_of(bytes);
    return facts ? "" : facts.error().message();
}

TEST(ReadFacts, KnowsThisProgram)
{
    const auto facts = read_facts(open_file("/proc/self/exe").get());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_TRUE(is_for(*facts, own_machine()));
    EXPECT_TRUE(facts->has_interpreter());
    EXPECT_EQ(facts->soname, "");
    EXPECT_THAT(facts->needed, Contains("libelf.so.1"));
    EXPECT_THAT(facts->needed, Contains("libc.so.6"));
}

TEST(ReadFacts, KnowsTheCLibrary)
{
    const auto facts = read_facts(open_libc().get());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->soname, "libc.so.6");
    EXPECT_EQ(facts->type, ET_DYN);
    EXPECT_TRUE(is_for(*facts, own_machine()));
}

TEST(ReadFacts, ReadsALibraryWithoutSections)
{
    const auto facts = facts_of(example().bytes());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->soname, "libcuda.so.1");
    EXPECT_THAT(facts->needed, ElementsAre("libc.so.6", "libm.so.6"));
    EXPECT_THAT(facts->runpath, ElementsAre("$ORIGIN", "/opt/lib"));
    EXPECT_EQ(facts->machine, EM_X86_64);
    EXPECT_EQ(facts->interpreter, "");
}

TEST(ReadFacts, ReadsA32BitLibrary)
{
    ElfImage<test::Elf32> image;
    image.add(DT_SONAME, image.string("libcuda.so.1"));

    auto facts = facts_of(image.bytes());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->elf_class, Facts::Class::elf32);
    EXPECT_EQ(facts->soname, "libcuda.so.1");
    EXPECT_EQ(machine_name(facts->machine), "i386");
    EXPECT_FALSE(is_for(*facts, own_machine()));
    const Machine& i386 = *compat32_of(*find_machine("x86_64"));
    EXPECT_TRUE(is_for(*facts, i386));
    facts->elf_class = Facts::Class::elf64;
    EXPECT_FALSE(is_for(*facts, i386));
}

TEST(ReadFacts, ReadsTheHeaderOfAnotherByteOrder)
{
    Elf64_Ehdr header = ElfImage<>().header;
    header.e_ident[EI_DATA] = ELFDATA2MSB;
    header.e_machine = EM_S390;
    header.e_phnum = 0;
    Elf64_Ehdr swapped = {};
    Elf_Data from = {&header, ELF_T_EHDR, EV_CURRENT, sizeof header, 0, 0};
    Elf_Data to = {&swapped, ELF_T_EHDR, EV_CURRENT, sizeof swapped, 0, 0};
    elf_version(EV_CURRENT);
    ASSERT_NE(elf64_xlatetof(&to, &from, ELFDATA2MSB), nullptr);

    const auto facts = facts_of({reinterpret_cast<const char*>(&swapped), sizeof swapped});

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->byte_order, std::endian::big);
    EXPECT_EQ(machine_name(facts->machine), "s390");
    EXPECT_FALSE(is_for(*facts, own_machine()));
}

TEST(ReadFacts, TellsRpathFromRunpath)
{
    ElfImage<> image;
    image.add(DT_RPATH, image.string("/old:"));
    const auto old = facts_of(image.bytes());
    EXPECT_THAT(old->rpath, ElementsAre("/old"));
    EXPECT_THAT(old->runpath, ElementsAre());

    ElfImage<> both;
    both.add(DT_RPATH, both.string("/old"));
    both.add(DT_RUNPATH, both.string("/new"));
    const auto facts = facts_of(both.bytes());
    EXPECT_THAT(facts->runpath, ElementsAre("/new"));
    EXPECT_THAT(facts->rpath, ElementsAre());
}

TEST(ReadFacts, FindsStringsFarApart)
{
    ElfImage<> image;
    image.add(DT_SONAME, image.string("libfirst.so"));
    image.strings.append(100'000, 'x').push_back('\0');
    const std::string long_name(2000, 'n');
    image.add(DT_NEEDED, image.string(long_name));
    image.add(DT_NEEDED, 1);

    const auto facts = facts_of(image.bytes());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->soname, "libfirst.so");
    EXPECT_THAT(facts->needed, ElementsAre(long_name, "libfirst.so"));
}

TEST(ReadFacts, AcceptsAStaticProgram)
{
    ElfImage<> image;
    image.dynamic.p_type = PT_NULL;

    const auto facts = facts_of(image.bytes());

    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_THAT(facts->needed, IsEmpty());
}

TEST(ReadFacts, RefusesWhatIsNoElfFile)
{
    EXPECT_EQ(problem_of(""), "not an ELF file");
    EXPECT_EQ(problem_of("!<arch>\n"), "not an ELF file");
    EXPECT_EQ(problem_of(std::string("\177ELF\2\1\1", 7)), "file ends within the ELF header");
    EXPECT_EQ(read_facts(open_file("/dev/null").get()).error().message(), "not a regular file");
    EXPECT_EQ(read_facts(open_file("/").get()).error().message(), "not a regular file");
    EXPECT_EQ(read_facts(-1).error().os_error(), EBADF);
}

TEST(ReadFacts, RefusesEveryTruncation)
{
    const std::string bytes = example().bytes();
    ASSERT_EQ(problem_of(bytes), "");
    const std::size_t end_of_last_string = bytes.size();

    for (std::size_t size = 0; size < end_of_last_string; ++size)
        EXPECT_NE(problem_of(bytes.substr(0, size)), "") << size;
}

TEST(ReadFacts, SurvivesFlippedBits)
{
    const std::string bytes = example().bytes();
    std::mt19937 random(20'240'607);

    for (int round = 0; round < 20'000; ++round) {
        std::string spoilt = bytes;
        for (int flip = 0; flip < 3; ++flip) {
            const std::size_t at = random() % spoilt.size();
            spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << random() % 8));
        }
        const auto fd = memory_file(spoilt);
        const auto facts = read_facts(fd.get());
        if (facts) {
            EXPECT_EQ(facts->soname.find('/'), std::string::npos);
        }
    }
}

TEST(ReadFacts, RefusesAHostileHeader)
{
    ElfImage<> many = example();
    many.header.e_phnum = 65'535;
    EXPECT_EQ(problem_of(many.bytes()), "65535 program headers");

    ElfImage<> small = example();
    small.header.e_phentsize = 0;
    EXPECT_EQ(problem_of(small.bytes()), "program headers of 0 bytes");

    ElfImage<> far = example();
    far.header.e_phoff = UINT64_MAX - 8;
    EXPECT_THAT(problem_of(far.bytes()), HasSubstr("read program headers: "));

    ElfImage<> sections = example();
    sections.header.e_shoff = 64;
    EXPECT_EQ(problem_of(sections.bytes()), "ELF file with extended section numbering");
}

TEST(ReadFacts, RefusesTwoDynamicSections)
{
    ElfImage<> image = example();
    image.load = image.dynamic;

    EXPECT_EQ(problem_of(image.bytes()), "more than one dynamic section");
}

TEST(ReadFacts, RefusesAHostileDynamicSection)
{
    ElfImage<> endless = example();
    EXPECT_EQ(problem_of(endless.raw_bytes()), "dynamic section has no end");

    ElfImage<> empty;
    EXPECT_EQ(problem_of(empty.raw_bytes()), "dynamic section is empty");

    ElfImage<> outside = example();
    outside.dynamic.p_vaddr = 0x10;
    EXPECT_EQ(problem_of(outside.bytes()),
              "read dynamic section: address outside every loaded segment");

    ElfImage<> huge = example();
    std::string bytes = huge.bytes();
    huge.dynamic.p_filesz = UINT64_MAX;
    std::memcpy(bytes.data() + sizeof huge.header + sizeof huge.load, &huge.dynamic,
                sizeof huge.dynamic);
    EXPECT_THAT(problem_of(bytes), HasSubstr("dynamic section of "));
}

TEST(ReadFacts, RefusesAStringTableOutsideTheSegments)
{
    ElfImage<> image = example();
    image.add(DT_STRSZ, 100);
    image.add(DT_STRTAB, 0x10);
    image.add(DT_NULL, 0);

    EXPECT_EQ(problem_of(image.raw_bytes()),
              "soname: read string table: address outside every loaded segment");

    ElfImage<> beyond = example();
    beyond.add(DT_NEEDED, 1U << 20U);
    EXPECT_EQ(problem_of(beyond.bytes()), "needed library: string outside the string table");
}

TEST(ReadFacts, RefusesASonameThatIsNoFileName)
{
    const std::string too_long(256, 'x');
    for (const std::string_view name : {"../evil.so", "/", ".", "..", "a\nb", "a\033[0m", "\177"}) {
        ElfImage<> image;
        image.add(DT_SONAME, image.string(name));
        EXPECT_THAT(problem_of(image.bytes()), HasSubstr("soname")) << name;
    }
    ElfImage<> image;
    image.add(DT_SONAME, image.string(too_long));
    EXPECT_EQ(problem_of(image.bytes()), "soname: string without an end within 255 bytes");
}

TEST(ReadFacts, WorksFromSeveralThreads)
{
    const auto fd = memory_file(example().bytes());
    std::array<int, 4> good = {};

    std::vector<std::thread> threads;
    threads.reserve(good.size());
    for (int& count : good)
        threads.emplace_back([&count, &fd] {
            for (int i = 0; i < 200; ++i)
                count += read_facts(fd.get()) ? 1 : 0;
        });
    for (std::thread& thread : threads)
        thread.join();

    EXPECT_THAT(good, ElementsAre(200, 200, 200, 200));
}

TEST(Machine, HasAName)
{
    EXPECT_EQ(machine_name(EM_AARCH64), "aarch64");
    EXPECT_EQ(machine_name(0xfffe), "unknown machine");
}

} // namespace
} // namespace gpucontainer::elf

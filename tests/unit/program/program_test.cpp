// SPDX-License-Identifier: MIT
#include "program/builder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace gpucontainer::program {
namespace {

/// Memory with nothing behind it.
class Edge {
public:
    Edge() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
    {
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_EQ(::mprotect(memory_ + page_, page_, PROT_NONE), 0);
    }
    Edge(const Edge&) = delete;
    Edge& operator=(const Edge&) = delete;
    ~Edge() { (void)::munmap(memory_, 2 * page_); }

    void* last(std::size_t size) const { return memory_ + page_ - size; }

private:
    std::size_t page_;
    std::byte* memory_;
};

TEST(ProgramTest, IsNotValidWhereItsOperationsLieBeyondItsEnd)
{
    ProgramBuilder builder;
    builder.add(Step::make_directory, "/directory");
    const Block whole = std::move(builder).build();
    ASSERT_TRUE(Program::is_valid(whole.get(), Program(whole.get()).header().size));
    const Edge edge;
    void* const block = edge.last(sizeof(ProgramHeader));
    std::memcpy(block, whole.get(), sizeof(ProgramHeader));
    Program(block).header().size = sizeof(ProgramHeader);

    EXPECT_FALSE(Program::is_valid(block, sizeof(ProgramHeader)));
}

} // namespace
} // namespace gpucontainer::program

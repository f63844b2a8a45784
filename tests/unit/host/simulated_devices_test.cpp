// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>

namespace gpucontainer::host {
namespace {

struct Outcome {
    int status = -1;
    std::string output; ///< Standard output and error.
};

/// Runs a command on the recorded host.
Outcome on_host(const std::string& command)
{
    const std::string line = GPUCTR_SIMHOST " -q " GPUCTR_TEST_SOURCE_DIR
                                            "/hosts/h200-x8-ubuntu24.04-580 -- "
                             + command + " 2>&1";
    Outcome outcome;
    std::FILE* pipe = ::popen(line.c_str(), "re");
    if (pipe == nullptr)
        return outcome;
    std::array<char, 4096> part = {};
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe))
        outcome.output.append(part.data(), got);
    const int status = ::pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

class SimulatedDevicesTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        constexpr int set_up_failed = 125;
        const Outcome probe = on_host("true");
        if (probe.status == set_up_failed && std::getenv("CI") == nullptr)
            GTEST_SKIP() << "no host can be simulated here: " << probe.output;
        ASSERT_EQ(probe.status, 0) << probe.output;
    }
};

TEST_F(SimulatedDevicesTest, AreThoseOfTheVendorInOrder)
{
    const Outcome found = on_host(GPUCTR_ENUMERATOR_PROBE " 10de");

    EXPECT_EQ(found.status, 0);
    EXPECT_EQ(found.output, "0000:00:06.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:07.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:08.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:09.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:0a.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:0b.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:0c.0 10de:2335 030200 nvidia -1 -1\n"
                            "0000:00:0d.0 10de:2335 030200 nvidia -1 -1\n");
}

TEST_F(SimulatedDevicesTest, AreNoneOfAVendorThatIsNotThere)
{
    const Outcome found = on_host(GPUCTR_ENUMERATOR_PROBE " 1002");

    EXPECT_EQ(found.status, 0);
    EXPECT_EQ(found.output, "");
}

} // namespace
} // namespace gpucontainer::host

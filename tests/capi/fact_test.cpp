// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.h>

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>

namespace gpucontainer {
namespace {

using FactError = std::unique_ptr<gpuctr_error, decltype(&gpuctr_error_free)>;

/// Calls something that hands over an error.
template <typename Call>
FactError error_from(gpuctr_status expected, Call&& call)
{
    gpuctr_error* error = nullptr;
    EXPECT_EQ(call(&error), expected) << gpuctr_error_message(error);
    return {error, &gpuctr_error_free};
}

class FactTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK); }
    void TearDown() override { gpuctr_host_free(host_); }

    gpuctr_host* host_ = nullptr;
};

/// What gpuctr_host_fact() gives; "?" if it fails.
std::string fact(const gpuctr_host* host, int gpu, const char* name)
{
    char* value = nullptr;
    if (gpuctr_host_fact(host, "nvidia", gpu, name, &value, nullptr) != GPUCTR_OK)
        return "?";
    std::string text = value;
    gpuctr_string_free(value);
    return text;
}

TEST_F(FactTest, FactsAreThoseOfRequirements)
{
    EXPECT_EQ(fact(host_, -1, "driver"), "580.159.04");
    EXPECT_EQ(fact(host_, -1, "cuda"), "13.0");
    EXPECT_EQ(fact(host_, 0, "cuda"), "13.0");
    EXPECT_EQ(fact(host_, 0, "arch"), "9.0");
    EXPECT_EQ(fact(host_, 0, "brand"), "nvidia");
    EXPECT_EQ(fact(host_, -1, "arch"), "");

    char* value = nullptr;
    const FactError unknown = error_from(GPUCTR_E_USAGE, [&](gpuctr_error** e) {
        return gpuctr_host_fact(host_, "nvidia", 0, "colour", &value, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(unknown.get()), "name");
    const FactError absent = error_from(GPUCTR_E_NO_DEVICE, [&](gpuctr_error** e) {
        return gpuctr_host_fact(host_, "nvidia", 99, "arch", &value, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(absent.get()), "gpu");
    const FactError foreign = error_from(GPUCTR_E_NO_DEVICE, [&](gpuctr_error** e) {
        return gpuctr_host_fact(host_, "amd", -1, "driver", &value, e);
    });
    EXPECT_STREQ(gpuctr_error_argument(foreign.get()), "vendor");
    for (const auto& call : {std::tuple<const gpuctr_host*, const char*, const char*, char**>(
                                 nullptr, "nvidia", "cuda", &value),
                             {host_, nullptr, "cuda", &value},
                             {host_, "nvidia", nullptr, &value},
                             {host_, "nvidia", "cuda", nullptr}}) {
        const auto& [host, vendor, name, result] = call;
        EXPECT_EQ(gpuctr_host_fact(host, vendor, -1, name, result, nullptr), GPUCTR_E_USAGE);
    }
}

} // namespace
} // namespace gpucontainer

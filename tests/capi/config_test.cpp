// SPDX-License-Identifier: MIT
#include <gpucontainer/config.hpp>
#include <gpucontainer/gpucontainer.h>

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string>

namespace gpucontainer {
namespace {

using Open = decltype(&gpuctr_config_open);

/// A file that root or this user can have written alone: below / and /root or the like.
class ConfigTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
    void TearDown() override
    {
        gpuctr_config_free(config_);
        std::filesystem::remove_all(directory_);
    }

    std::string path() const { return directory_ + "/config.yaml"; }

    gpuctr_status open(Open function, const std::string& text)
    {
        std::ofstream(path()) << text;
        std::filesystem::permissions(path(), std::filesystem::perms(0644));
        gpuctr_config_free(config_);
        config_ = nullptr;
        gpuctr_error* error = nullptr;
        const auto status = function(path().c_str(), &config_, &error);
        EXPECT_EQ(status == GPUCTR_OK, error == nullptr);
        EXPECT_EQ(status == GPUCTR_OK, config_ != nullptr);
        message_ = error != nullptr ? gpuctr_error_message(error) : "";
        object_ = error != nullptr ? gpuctr_error_object(error) : "";
        gpuctr_error_free(error);
        return status;
    }

    const gpuctr_setting* at(std::size_t index) const
    {
        return gpuctr_config_setting_at(config_, index);
    }

    std::string directory_ = "/tmp/gpuctr-config-XXXXXX";
    gpuctr_config* config_ = nullptr;
    std::string message_;
    std::string object_;
};

TEST_F(ConfigTest, HasNoMistakeWhereThereIsNone)
{
    for (const Open function : {&gpuctr_config_open, &gpuctr_config_open_with_mistakes}) {
        ASSERT_EQ(open(function, "device: [0]\nallowed-devices: 1\nanything: x\n"), GPUCTR_OK);
        ASSERT_EQ(gpuctr_config_setting_count(config_), 3U);
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(gpuctr_setting_mistake(at(i)), nullptr);
        EXPECT_EQ(gpuctr_setting_in_list(at(0)), 1);
        EXPECT_EQ(gpuctr_setting_in_list(at(1)), 0);
        EXPECT_EQ(at(3), nullptr);
        gpuctr_config* missing = nullptr;
        ASSERT_EQ(function("/nonexistent/config.yaml", &missing, nullptr), GPUCTR_OK);
        EXPECT_EQ(gpuctr_config_setting_count(missing), 0U);
        gpuctr_config_free(missing);
    }
}

TEST_F(ConfigTest, TellsAMistakeInItsPlace)
{
    const std::string text = "device: 0\nState_Dir: /a\nlock:\nlayout: tree\n";

    ASSERT_EQ(open(gpuctr_config_open_with_mistakes, text), GPUCTR_OK);
    ASSERT_EQ(gpuctr_config_setting_count(config_), 4U);
    EXPECT_STREQ(gpuctr_setting_value(at(0)), "0");
    EXPECT_STREQ(gpuctr_setting_key(at(1)), "State_Dir");
    EXPECT_STREQ(gpuctr_setting_value(at(1)), "");
    EXPECT_EQ(gpuctr_setting_line(at(1)), 2U);
    EXPECT_EQ(gpuctr_setting_mistake(at(1)),
              path() + ":2: State_Dir: unknown key: keys have the characters a-z and - alone");
    EXPECT_STREQ(gpuctr_setting_key(at(2)), "lock");
    EXPECT_EQ(gpuctr_setting_mistake(at(2)),
              path() + ":3: lock: no value: a key has one, or a list of them");
    EXPECT_STREQ(gpuctr_setting_value(at(3)), "tree");
    EXPECT_EQ(gpuctr_setting_mistake(at(3)), nullptr);

    const std::string first = gpuctr_setting_mistake(at(1));
    EXPECT_EQ(open(gpuctr_config_open, text), GPUCTR_E_USAGE);
    EXPECT_EQ(message_, first);
    EXPECT_EQ(object_, "State_Dir");
}

TEST_F(ConfigTest, FailsForAMistakeThatMayConcernThePolicy)
{
    for (const Open function : {&gpuctr_config_open, &gpuctr_config_open_with_mistakes})
        for (const std::string text : {"allowed-devices: []", "Restricted: true", "restriced: true",
                                       "restricted: {a: b}", "x: {allowed-devices: 0}"}) {
            EXPECT_EQ(open(function, "lock:\n" + text + "\n"), GPUCTR_E_USAGE) << text;
            if (function == &gpuctr_config_open_with_mistakes) {
                EXPECT_TRUE(message_.starts_with(path() + ":2: " + object_ + ": ")) << message_;
                EXPECT_EQ(object_, text.substr(0, text.find(':')));
            }
        }
}

TEST_F(ConfigTest, FailsForAFileThatCannotBeRead)
{
    for (const Open function : {&gpuctr_config_open, &gpuctr_config_open_with_mistakes}) {
        EXPECT_EQ(open(function, "device: [0\n"), GPUCTR_E_USAGE);
        EXPECT_TRUE(message_.starts_with(path() + ":2: ")) << message_;
        EXPECT_EQ(object_, path());
        std::filesystem::remove(path());
        std::filesystem::create_directory(path());
        gpuctr_error* error = nullptr;
        EXPECT_EQ(function(path().c_str(), &config_, &error), GPUCTR_E_USAGE);
        EXPECT_EQ(gpuctr_error_object(error), path());
        gpuctr_error_free(error);
        std::filesystem::remove(path());
    }
}

TEST_F(ConfigTest, IsTheSameInCxx)
{
    ASSERT_EQ(open(gpuctr_config_open_with_mistakes, "device: [0]\nlock:\n"), GPUCTR_OK);
    const auto config = Config::with_mistakes(path());
    ASSERT_EQ(config.settings().size(), 2U);
    EXPECT_TRUE(config.settings()[0].in_list());
    EXPECT_EQ(config.settings()[0].mistake(), "");
    EXPECT_EQ(config.settings()[1].mistake(), gpuctr_setting_mistake(at(1)));
    try {
        const Config faultless(path());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.object(), "lock");
        EXPECT_EQ(error.status(), GPUCTR_E_USAGE);
    }
}

} // namespace
} // namespace gpucontainer

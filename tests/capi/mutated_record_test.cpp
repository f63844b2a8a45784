// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <cstdint>
#include <cstdlib>
#include <gmock/gmock.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer {
namespace {

using Json = nlohmann::ordered_json;
using Host = std::unique_ptr<gpuctr_host, decltype(&gpuctr_host_free)>;
using Plan = std::unique_ptr<gpuctr_plan, decltype(&gpuctr_plan_free)>;

/// Each element of a list is read alike; three of them stand for all.
bool is_sampled(const Json& list, std::size_t index)
{
    static const bool all = std::getenv("GPUCTR_TEST_LONG") != nullptr;
    return all || index < 2 || index + 1 == list.size();
}

/// Where there is a value in a document that could say something else.
void collect(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& into)
{
    // Only told to people, or compared with this host and nothing else.
    static const std::set<std::string> harmless = {"findings", "fingerprint", "schema"};
    if (value.is_object()) {
        for (const auto& [key, element] : value.items())
            if (harmless.count(key) == 0)
                collect(element, at / key, into);
    } else if (value.is_array()) {
        into.push_back(at);
        for (std::size_t i = 0; i < value.size(); ++i)
            if (is_sampled(value, i))
                collect(value[i], at / i, into);
    } else {
        into.push_back(at);
    }
}

/// What somebody might write there who wants more than the host has.
std::vector<Json> others_for(const Json& value)
{
    if (value.is_array()) {
        std::vector<Json> lists = {Json::array()};
        if (!value.empty()) {
            lists.push_back(value);
            lists.back().push_back(value.front());
            lists.push_back(value);
            lists.back().erase(lists.back().begin());
        } else {
            lists.push_back(Json::array({"../../etc/passwd"}));
            lists.push_back(Json::array({"libc.so.6"}));
        }
        return lists;
    }
    if (value.is_number())
        return {0, 1, value.get<std::int64_t>() + 1, 8, 259};
    if (value.is_boolean())
        return {!value.get<bool>()};
    return {"/etc/shadow",
            "/dev/sda",
            "/usr/lib/../../etc/shadow",
            "libc.so.6",
            "passwd",
            "LD_PRELOAD",
            "580.159.05",
            "utility",
            "none",
            "tool",
            "/usr/local/nvidia/lib64",
            "1:2:3:4",
            "files",
            nullptr};
}

Plan plan_of(const std::string& record, int root)
{
    gpuctr_host* host = nullptr;
    gpuctr_plan* plan = nullptr;
    if (gpuctr_host_from_json(record.data(), record.size(), nullptr, &host, nullptr) == GPUCTR_OK)
        (void)gpuctr_plan_create(host, nullptr, root, &plan, nullptr);
    gpuctr_host_free(host);
    return {plan, &gpuctr_plan_free};
}

/// What of a plan has effects, a line each; links by what they lead to.
std::set<std::string> effects_of(const Plan& plan)
{
    char* text = nullptr;
    EXPECT_EQ(gpuctr_plan_to_json(plan.get(), &text, nullptr), GPUCTR_OK);
    const Json document = Json::parse(text);
    gpuctr_string_free(text);
    std::set<std::string> effects;
    for (const char* const list : {"items", "environment", "device_rules", "groups"})
        for (Json element : document[list]) {
            if (element.is_object())
                element.erase("reason");
            effects.insert(element.dump());
        }
    for (const Json& driver : document["drivers"])
        effects.insert({driver["vendor"].dump(), driver["version"].dump()});
    for (const char* const field : {"tree_path", "layout"})
        if (!document[field].is_null()) // no tree is less than one
            effects.insert(document[field].dump());
    return effects;
}

std::string record_of_this_host()
{
    gpuctr_host* host = nullptr;
    char* text = nullptr;
    EXPECT_EQ(gpuctr_host_open(nullptr, &host, nullptr), GPUCTR_OK);
    EXPECT_EQ(gpuctr_host_to_json(host, &text, nullptr), GPUCTR_OK);
    std::string record(text);
    gpuctr_string_free(text);
    gpuctr_host_free(host);
    return record;
}

class MutatedRecordTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        root_.emplace("/tmp/gpuctr-mutated");
        record_ = record_of_this_host();
        genuine_ = effects_of(plan_of(record_, root_->fd()));
    }

    /// What a record does that this host does not have, a line each; none of one
    /// that is refused.
    std::vector<std::string> foreign_effects_of(const std::string& record)
    {
        const Plan plan = plan_of(record, root_->fd());
        gpuctr_prepared* prepared = nullptr;
        if (!plan || gpuctr_plan_prepare(plan.get(), nullptr, &prepared, nullptr) != GPUCTR_OK) {
            ++refused;
            return {};
        }
        gpuctr_prepared_free(prepared);
        ++accepted;
        std::vector<std::string> foreign;
        for (const std::string& effect : effects_of(plan))
            if (genuine_.count(effect) == 0)
                foreign.push_back(effect);
        return foreign;
    }

    int accepted = 0;
    int refused = 0;
    std::string record_;

private:
    std::optional<test::ContainerRoot> root_;
    std::set<std::string> genuine_;
};

TEST_F(MutatedRecordTest, HasNoEffectThatThisHostDoesNotHave)
{
    const Json original = Json::parse(record_);
    std::vector<Json::json_pointer> places;
    collect(original, Json::json_pointer(), places);
    ASSERT_GT(places.size(), 80U);

    for (const Json::json_pointer& place : places)
        for (const Json& other : others_for(original[place])) {
            Json changed = original;
            changed[place] = other;
            if (changed == original)
                continue;
            EXPECT_THAT(foreign_effects_of(changed.dump()), testing::IsEmpty())
                << place << ": " << other;
        }

    // Most of it is refused; what grants less is not.
    EXPECT_GT(refused, accepted);
    EXPECT_GT(accepted, 0);
    RecordProperty("refused", refused);
    RecordProperty("accepted", accepted);
}

TEST_F(MutatedRecordTest, IsRefusedWhereItHidesThatANodeIsMissing)
{
    constexpr const char* path = "/dev/nvidia3";
    struct stat node = {};
    ASSERT_EQ(::stat(path, &node), 0);
    Json changed = Json::parse(record_);
    Json& nodes = changed["drivers"][0]["nodes"];
    for (std::size_t i = nodes.size(); i-- > 0;)
        if (nodes[i]["path"] == path)
            nodes.erase(i);

    EXPECT_THAT(foreign_effects_of(changed.dump()), testing::IsEmpty());
    EXPECT_EQ(accepted, 1);
    (void)::umount2(path, MNT_DETACH);
    ASSERT_EQ(::unlink(path), 0);
    EXPECT_THAT(foreign_effects_of(changed.dump()), testing::IsEmpty());
    EXPECT_EQ(refused, 1);
}

TEST_F(MutatedRecordTest, IsRefusedWhereItGivesAMadeNodeToAnother)
{
    constexpr const char* path = "/dev/nvidia4";
    struct stat node = {};
    ASSERT_EQ(::stat(path, &node), 0);
    (void)::umount2(path, MNT_DETACH);
    ASSERT_EQ(::unlink(path), 0);
    record_ = record_of_this_host();
    const auto with_another = [&](const auto& change) {
        Json changed = Json::parse(record_);
        Json& missing = changed["drivers"][0]["missing_nodes"];
        Json other = missing[0];
        change(other);
        missing.insert(missing.begin(), other);
        (void)foreign_effects_of(changed.dump());
    };

    with_another([](Json& /*other*/) {});
    EXPECT_EQ(accepted, 1);
    with_another([](Json& other) { other["uid"] = 1000; });
    with_another([](Json& other) { other["gid"] = 1000; });
    with_another([](Json& other) { other["mode"] = 0667; });
    with_another([](Json& other) { other["minor"] = 5; });
    with_another([](Json& other) { other.erase("uid"); });
    EXPECT_EQ(refused, 5);
    ASSERT_EQ(::mknod(path, node.st_mode, node.st_rdev), 0);
}

TEST_F(MutatedRecordTest, MayGrantLess)
{
    Json changed = Json::parse(record_);
    changed["drivers"][0]["nodes"].erase(3);
    changed["drivers"][0]["files"].erase(0);

    EXPECT_THAT(foreign_effects_of(changed.dump()), testing::Not(testing::Contains("shadow")));
    EXPECT_EQ(accepted, 1);
}

} // namespace
} // namespace gpucontainer

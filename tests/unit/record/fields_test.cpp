// SPDX-License-Identifier: MIT
#include "record/driver.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace gpucontainer::record {
namespace {

/// Names of the properties of a definition in a schema, sorted.
std::vector<std::string> properties(const std::string& schema, const std::string& definition)
{
    const auto text =
        base::read_file(std::string(GPUCTR_TEST_SOURCE_DIR) + "/../docs/schema/" + schema);
    EXPECT_TRUE(text) << text.error().message();
    const Json document = Json::parse(text ? *text : "{}");
    std::vector<std::string> names;
    for (const auto& [name, property] : document["definitions"][definition]["properties"].items())
        names.push_back(name);
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> sorted(std::vector<std::string> names)
{
    std::ranges::sort(names);
    return names;
}

TEST(Fields, AreThoseThatTheSchemasPromise)
{
    EXPECT_EQ(sorted(names_of_driver()), properties("list.json", "driver"));
    EXPECT_EQ(sorted(names_of_file()), properties("list.json", "file"));
    EXPECT_EQ(sorted(names_of_node()), properties("list.json", "node"));
    for (const char* const schema : {"list.json", "plan.json", "status.json"}) {
        EXPECT_EQ(sorted(names_of_gpu()), properties(schema, "gpu")) << schema;
        EXPECT_EQ(sorted(names_of_finding()), properties(schema, "finding")) << schema;
    }
}

TEST(Fields, AreReadAsTheyWereWritten)
{
    model::Gpu gpu;
    gpu.index = 3;
    gpu.uuid = "GPU-1";
    gpu.model = "a model";
    gpu.architecture = "gfx942";
    gpu.names = {"0/3"};
    gpu.parts = 2;
    const nlohmann::json written = to_json(gpu);
    Fields::Problem problem;

    EXPECT_EQ(read_gpu(Fields(written, "", problem)), gpu);
    EXPECT_FALSE(problem);
}

} // namespace
} // namespace gpucontainer::record

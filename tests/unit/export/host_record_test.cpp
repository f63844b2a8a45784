// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/registry.hpp"
#include "export/json.hpp"
#include "export/read_host.hpp"

#include "unit/plan/driver_stack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace gpucontainer::exports {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

/// A host with something in each field that a record has.
std::vector<model::DriverStack> make_drivers()
{
    model::DriverStack driver = test::make_driver();
    driver.library_directory = "/drv/lib";
    driver.version_source = model::VersionSource::option;
    driver.gpus[1].minor = -1;
    driver.gpus[1].uuid.clear();
    driver.gpus[0].numa_node = 1;
    driver.gpus[0].parts = 2;
    driver.files[0].also = model::Capability::video;
    driver.files[0].id = {1, 2, 3, -4};
    driver.files[0].registrations = {{model::Manner::loader},
                                     {model::Manner::opencl_icd, "x.icd"},
                                     {model::Manner::module_directory, "vdpau"},
                                     {model::Manner::egl_vendor, "10_x.json", "{}\n"},
                                     {model::Manner::gpu_mask, "/etc/x/gpus", "{gpus}\n"}};
    driver.files[3].registrations = {{model::Manner::script, "python3"}};
    driver.files[0].needed = {"libx.so.1"};
    driver.files[0].versions = {{"libc.so.6", "GLIBC_2.34"}};
    driver.files[0].precedence = model::Precedence::runtime;
    driver.files[1].precedence = model::Precedence::image;
    model::DriverFile data;
    data.kind = model::FileKind::data;
    data.name = "x.ids";
    data.path = "/drv/share/x.ids";
    data.registrations = {{model::Manner::fixed_path, "/usr/share/x/x.ids"}};
    data.reason = "data of a test";
    driver.files.push_back(data);
    driver.optional_files = true;
    driver.nodes[2].uid = 7;
    driver.nodes[2].gid = 44;
    driver.nodes[2].mode = 0660;
    driver.nodes[2].accessible = false;
    driver.missing_nodes = {test::make_node("/dev/nvidia1", 195, 1, 1)};
    driver.nodes[1].host_path = "/drv/dev/nvidia0";
    driver.masks = {{"/proc/driver/nvidia/params", "A: 1\nB: 0\n", "a reason"},
                    {"/proc/driver/nvidia/capabilities", "", "another reason", true},
                    {"/proc/driver/nvidia/gpus",
                     "",
                     "a third",
                     true,
                     {{"0000:3b:00.0", 0}, {"a/b", -1, false}},
                     false}};
    driver.findings = {
        {model::FindingCode::library_missing, "libx.so", "something does not work", "",
         "install it", model::Capability::compute},
        {model::FindingCode::file_unusable, "libx.so", "is for i386", "/drv/lib/libx.so"}};
    return {std::move(driver)};
}

const std::vector<detect::Mark>& marks()
{
    static const std::vector<detect::Mark> all = {{"/dev/nvidia0", "5:6:7.8 rw"},
                                                  {"/etc/ld.so.cache", "missing"}};
    return all;
}

const model::Findings& failed_vendors()
{
    static const model::Findings all = {
        {model::FindingCode::driver_unusable, "X driver", "is broken", "/drv"}};
    return all;
}

Json make_document()
{
    return Json::parse(host_to_json(make_drivers(), failed_vendors(), marks()));
}

std::string problem_of(const std::string& text)
{
    const auto record = host_from_json(text);
    if (record)
        return "";
    EXPECT_EQ(record.error().code(), Errc::usage);
    return record.error().message();
}

/// What is wrong with the document once `change` was made in its driver.
template <typename Change>
std::string problem_with(Change&& change)
{
    Json document = make_document();
    change(document["drivers"][0]);
    return problem_of(document.dump());
}

TEST(HostRecord, HasEveryMakerThatASiteMayDescribe)
{
    std::vector<model::DriverStack> drivers(drivers::vendors().size() + drivers::most_described,
                                            make_drivers().front());
    for (std::size_t i = 0; i < drivers.size(); ++i)
        drivers[i].vendor = "v" + std::to_string(i);

    EXPECT_EQ(problem_of(host_to_json(drivers, {}, {})), "");
}

TEST(HostRecord, ComesBackAsItWas)
{
    const auto drivers = make_drivers();
    const std::string text = host_to_json(drivers, failed_vendors(), marks());

    const auto record = host_from_json(text);

    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(host_to_json(record->drivers, record->findings, record->fingerprint), text);
    ASSERT_EQ(record->drivers.size(), 1U);
    const model::DriverStack& driver = record->drivers.front();
    EXPECT_EQ(driver.gpus, drivers.front().gpus);
    EXPECT_EQ(driver.files, drivers.front().files);
    EXPECT_EQ(driver.nodes, drivers.front().nodes);
    EXPECT_EQ(driver.missing_nodes, drivers.front().missing_nodes);
    EXPECT_EQ(driver.masks, drivers.front().masks);
    EXPECT_EQ(driver.needs, drivers.front().needs);
    EXPECT_EQ(driver.optional_files, drivers.front().optional_files);
    EXPECT_EQ(driver.version_source, model::VersionSource::option);
    EXPECT_EQ(record->fingerprint, marks());
}

TEST(HostRecord, MayBeOfAHostWithoutGpus)
{
    const auto record = host_from_json(host_to_json({}, {}, {}));

    ASSERT_TRUE(record) << record.error().message();
    EXPECT_TRUE(record->drivers.empty());
}

TEST(HostRecord, MayBeOfADriversFilesAlone)
{
    const auto become = [](Json& driver, const char* source, const Json& version) {
        for (const char* const field : {"gpus", "nodes", "missing_nodes"})
            driver[field] = Json::array();
        driver["version_source"] = source;
        driver["version"] = version;
    };
    EXPECT_EQ(problem_with([&](Json& driver) { become(driver, "files", "580.1"); }), "");
    EXPECT_EQ(problem_with([&](Json& driver) { become(driver, "files", nullptr); }), "");
    for (const char* const source : {"module", "option"})
        EXPECT_THAT(problem_with([&](Json& driver) { become(driver, source, "580.1"); }),
                    HasSubstr("gpus: none, although the driver is not of files only"));
    EXPECT_THAT(problem_with([](Json& driver) { driver["version"] = nullptr; }),
                HasSubstr("version: null"));
}

TEST(HostRecord, MayHaveFieldsOfALaterVersion)
{
    EXPECT_EQ(problem_with([](Json& driver) { driver["later"] = {{"a", 1}}; }), "");
}

TEST(HostRecord, MayBeOfAVersionThatDidNotWriteOwners)
{
    Json document = make_document();
    for (Json& node : document["drivers"][0]["nodes"])
        EXPECT_EQ(node.erase("uid"), 1U);

    const auto record = host_from_json(document.dump());

    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(record->drivers.front().nodes[2].uid, UINT32_MAX); // and not root
}

TEST(HostRecord, NamesTheFieldThatIsWrong)
{
    EXPECT_EQ(problem_with([](Json& driver) { driver["files"][2]["path"] = "lib/x.so"; }),
              "host record: drivers[0].files[2].path: not an absolute path without . and ..");
    EXPECT_EQ(problem_with([](Json& driver) { driver["nodes"][1]["uid"] = "root"; }),
              "host record: drivers[0].nodes[1].uid: not a number from 0 to 4294967295");
    EXPECT_EQ(problem_with([](Json& driver) { driver["nodes"][1].erase("major"); }),
              "host record: drivers[0].nodes[1].major: missing");
}

TEST(HostRecord, HasNoNameThatLeadsElsewhere)
{
    for (const char* const path :
         {"", "lib", "/a/../b", "/..", "/a/./b", "/a//b", "/a/", "/a\x1b[31m", "/a\n"})
        EXPECT_THAT(problem_with([&](Json& driver) { driver["files"][0]["path"] = path; }),
                    HasSubstr("files[0].path"))
            << path;
    for (const char* const name : {"", ".", "..", "../x", "a/b", "/etc/passwd"})
        for (const char* const field : {"links", "entry_names"})
            EXPECT_THAT(problem_with([&](Json& driver) { driver["files"][0][field] = {name}; }),
                        HasSubstr(field))
                << name;
    const std::string with_nul("/dev/a\0b", 8);
    EXPECT_THAT(problem_with([&](Json& driver) { driver["nodes"][0]["path"] = with_nul; }),
                HasSubstr("nodes[0].path"));
}

TEST(HostRecord, HasTextsOfALengthThatSomebodyReads)
{
    const std::string text(70000, 'x');
    EXPECT_THAT(problem_with([&](Json& driver) { driver["files"][0]["reason"] = text; }),
                HasSubstr("files[0].reason"));
}

TEST(HostRecord, HasFindingsOfAHost)
{
    const auto problem_of = [](const char* field, const char* value) {
        return problem_with([&](Json& driver) { driver["findings"][0][field] = value; });
    };
    for (const char* const field : {"object", "text", "hint"})
        for (const char* const text : {"a\nb", "\x1b[31m"})
            EXPECT_THAT(problem_of(field, text), HasSubstr("findings[0].text: a warning"));
    EXPECT_THAT(problem_of("text", ""), HasSubstr("findings[0].text"));
    EXPECT_THAT(problem_of("severity", "note"), HasSubstr("findings[0].severity"));
    EXPECT_THAT(problem_of("code", "no_such_code"), HasSubstr("findings[0].code"));
    const auto problem_of_code = [](const char* code, const char* severity) {
        return problem_with([&](Json& driver) {
            driver["findings"][0]["code"] = code;
            driver["findings"][0]["severity"] = severity;
        });
    };
    EXPECT_THAT(problem_of_code("locked", "error"), HasSubstr("findings[0].code: not of a host"));
    EXPECT_THAT(problem_of_code("container_need", "need"), HasSubstr("findings[0].code"));
    EXPECT_EQ(problem_of_code("no_gpu", "warning"), "");
    EXPECT_EQ(problem_with([](Json& driver) { driver["findings"][1]["text"] = "has\na line"; }),
              "");
}

TEST(HostRecord, HasNoTargetThatLeadsElsewhere)
{
    const auto problem_of = [](std::size_t file, std::size_t registration, const Json& name) {
        return problem_with([&](Json& driver) {
            driver["files"][file]["registrations"][registration]["name"] = name;
        });
    };
    for (const char* const path : {"", "share/x", "/usr/../etc/passwd"})
        EXPECT_THAT(problem_of(4, 0, path), HasSubstr("files[4].registrations[0].name")) << path;
    EXPECT_THAT(problem_of(4, 0, nullptr), HasSubstr("files[4].registrations[0].name"));
    EXPECT_THAT(problem_of(0, 0, "x"), HasSubstr("files[0].registrations[0].name"));
    EXPECT_THAT(problem_of(0, 1, "../../x.icd"), HasSubstr("files[0].registrations[1].name"));
    EXPECT_THAT(problem_of(0, 2, "../etc"), HasSubstr("files[0].registrations[2].name"));
    EXPECT_THAT(problem_of(0, 2, "/etc"), HasSubstr("files[0].registrations[2].name"));
    EXPECT_THAT(problem_of(0, 3, "../../x.json"), HasSubstr("files[0].registrations[3].name"));
    EXPECT_THAT(problem_of(0, 4, "etc/x"), HasSubstr("files[0].registrations[4].name"));
    EXPECT_THAT(problem_of(3, 0, nullptr), HasSubstr("files[3].registrations[0].name"));
}

TEST(HostRecord, HasRegistrationsThatFit)
{
    EXPECT_THAT(
        problem_with([](Json& driver) { driver["files"][4]["registrations"] = Json::array(); }),
        HasSubstr("files[4].registrations: none"));
    const Json path = {{"manner", "fixed_path"}, {"name", "/etc"}};
    const Json icd = {{"manner", "opencl_icd"}, {"name", "x.icd"}};
    EXPECT_THAT(problem_with([&](Json& driver) {
                    driver["files"][3]["registrations"] = Json::array({icd});
                }),
                HasSubstr("files[3].registrations: not of a file of this kind"));
    EXPECT_THAT(problem_with([&](Json& driver) {
                    driver["files"][0]["registrations"] = Json::array({path});
                }),
                HasSubstr("files[0].registrations: not of a file of this kind"));
    EXPECT_THAT(
        problem_with([&](Json& driver) { driver["files"][4]["registrations"].push_back(path); }),
        HasSubstr("files[4].registrations: one manner more than once"));
}

TEST(HostRecord, HasIndexesThatFit)
{
    EXPECT_THAT(problem_with([](Json& driver) { driver["gpus"][1]["index"] = 7; }),
                HasSubstr("not in the order"));
    EXPECT_THAT(problem_with([](Json& driver) { driver["nodes"][2]["gpu"] = 2; }),
                HasSubstr("a GPU that is not there"));
    EXPECT_THAT(problem_with([](Json& driver) { driver["gpus"] = Json::array(); }),
                HasSubstr("none"));
}

TEST(HostRecord, HasEachVendorOnce)
{
    EXPECT_THAT(problem_with([](Json& driver) { driver["vendor"] = "acme"; }), "")
        << "a site may have described it";
    EXPECT_THAT(problem_with([](Json& driver) { driver["vendor"] = "Acme/x"; }),
                HasSubstr("not the name of a vendor"));
    Json document = make_document();
    document["drivers"].push_back(document["drivers"][0]);
    EXPECT_THAT(problem_of(document.dump()), HasSubstr("nvidia more than once"));
}

TEST(HostRecord, IsADocumentOfThisForm)
{
    for (const char* const text :
         {"", "null", "[]", "1", "\"x\"", "{}", "{\"schema\": 1}",
          R"({"schema": "gpucontainer/list/2", "drivers": [], "fingerprint": []})",
          R"({"schema": "gpucontainer/list/1"})", "{\"schema\": \"\xff\"}", "1e999"})
        EXPECT_NE(problem_of(text), "") << text;
}

TEST(HostRecord, HasALimitedSizeAndDepth)
{
    EXPECT_THAT(problem_of(std::string(5U << 20U, ' ')), HasSubstr("larger than"));
    constexpr std::size_t deep = 1'000'000;
    EXPECT_NE(problem_of(std::string(deep, '[')), "");
    EXPECT_NE(problem_of(std::string(deep, '[') + std::string(deep, ']')), "");
    std::string text = make_document().dump();
    const auto with_later = [&](const std::string& value) {
        return base::format("{{\"later\":{},{}", value, text.substr(1));
    };
    EXPECT_EQ(problem_of(with_later(std::string(60, '[') + std::string(60, ']'))), "");
    EXPECT_THAT(problem_of(with_later(std::string(deep, '[') + std::string(deep, ']'))),
                HasSubstr("nested in more than 64 levels"));
}

/// A list of objects once took hours.
TEST(HostRecord, TakesTheTimeOfItsLength)
{
    std::string text = "[";
    while (text.size() < (4U << 20U) - 16)
        text += R"({"":1},)";
    EXPECT_NE(problem_of(text + "0]"), "");
}

TEST(HostRecord, IsRefusedWhereverItIsCutShort)
{
    std::string text = make_document().dump();

    for (std::size_t size = 0; size < text.size(); ++size)
        EXPECT_NE(problem_of(text.substr(0, size)), "") << size;
}

/// What is read with another value there is refused, or a record like any other.
void mutate(const Json& original, const Json::json_pointer& at, std::size_t& accepted)
{
    static const std::vector<Json> values = {nullptr,
                                             true,
                                             0,
                                             -1,
                                             1e300,
                                             18446744073709551615U,
                                             "",
                                             "/",
                                             "a\nb",
                                             std::string(5000, 'x'),
                                             std::string(1, '\0'),
                                             Json::array(),
                                             Json::object(),
                                             Json::array({1, "x"}),
                                             Json::object({{"a", nullptr}})};
    for (const Json& value : values) {
        Json changed = original;
        changed[at] = value;
        if (const auto record = host_from_json(changed.dump())) {
            ++accepted;
            const std::string again =
                host_to_json(record->drivers, record->findings, record->fingerprint);
            EXPECT_TRUE(host_from_json(again)) << at << " " << value;
        }
    }
}

TEST(HostRecord, SurvivesAnyValueInAnyPlace)
{
    const Json document = make_document();
    const Json leaves = document.flatten();
    std::size_t accepted = 0;
    std::set<std::string> parents;

    for (const auto& entry : leaves.items()) {
        const Json::json_pointer at(entry.key());
        mutate(document, at, accepted);
        if (parents.insert(at.parent_pointer().to_string()).second)
            mutate(document, at.parent_pointer(), accepted);
        if (document[at.parent_pointer()].is_object()) {
            Json without = document;
            without[at.parent_pointer()].erase(at.back());
            // Earlier versions did not write the owners of nodes, whose part a GPU is, what
            // manifests say, nor the architecture.
            const bool is_later = at.back() == "uid" || at.back() == "parent"
                                  || at.back() == "machine"
                                  || (at.back() == "content"
                                      && at.to_string().find("registrations") != std::string::npos);
            EXPECT_EQ(host_from_json(without.dump()).has_value(), is_later) << at;
        }
    }

    EXPECT_GT(accepted, 0U);
}

} // namespace
} // namespace gpucontainer::exports

// SPDX-License-Identifier: MIT
#include "cdi/read.hpp"

#include "base/format.hpp"
#include "cdi/text.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cdi {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "LINE: MESSAGE" of each fault.
std::vector<std::string> faults(std::string_view text, Form form = Form::yaml)
{
    std::vector<std::string> all;
    for (const Fault& fault : read_document(text, form).faults)
        all.push_back(base::format("{}: {}", fault.line, fault.message()));
    return all;
}

/// A specification whose only device has these edits, of the newest version.
std::string with_edits(std::string_view edits)
{
    return base::format("cdiVersion: 1.1.0\nkind: vendor.com/class\ndevices:\n- name: dev\n"
                        "  containerEdits:\n{}",
                        edits);
}

TEST(CdiReadTest, TakesWhatIsWritten)
{
    Specification specification;
    specification.version = "1.1.0";
    specification.kind = "a.com/b";
    specification.annotations = {{"x.y/z", "true"}};
    Edits edits;
    edits.env = {"A=b"};
    edits.nodes = {{"/dev/a", "/dev/b", "c", 1, 0, 0660, "rw", 3, 4}};
    edits.net_devices = {{"eth1", "eth0"}};
    edits.mounts = {{"/a", "/b", {"ro", "1"}, "none"}};
    edits.hooks = {{"createContainer", "/bin/h", {"h", "no"}, {"E=1"}, 5}};
    edits.rdt = {"clos", "L3", "MB", {"s"}, true};
    edits.additional_gids = {7};
    specification.devices = {{"0", {{"k", "1"}}, edits}};
    specification.edits.env = {"C=d"};

    for (const Form form : {Form::json, Form::yaml}) {
        const std::string text =
            form == Form::json ? to_json(specification) : to_yaml(specification);
        const Document document = read_document(text, form);
        EXPECT_THAT(faults(text, form), IsEmpty());
        EXPECT_EQ(document.specification, specification);
    }
}

TEST(CdiReadTest, TakesTheSmallestSpecification)
{
    EXPECT_THAT(faults(R"({"cdiVersion": "0.3.0", "kind": "v.com/c",
                           "devices": [{"name": "d", "containerEdits": {"env": ["A=b"]}}]})",
                       Form::json),
                IsEmpty());
    EXPECT_THAT(faults("---\n# a comment\ncdiVersion: v0.5.0\nkind: v.com/c\ncontainerEdits: null\n"
                       "devices:\n- name: \"0\"\n  containerEdits: {env: [A=b]}\n"),
                IsEmpty());
}

TEST(CdiReadTest, NamesTheLineOfAMistake)
{
    EXPECT_THAT(
        faults("cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n- name: d\n"
               "  containerEdits:\n    mounts:\n    - hostPath: /a\n      containerPaht: /b\n"),
        ElementsAre("7: devices[0].containerEdits.mounts[0]: containerPath is missing",
                    "8: devices[0].containerEdits.mounts[0]: unknown field 'containerPaht'"));
    EXPECT_THAT(
        faults("{\n\"cdiVersion\": \"0.5.0\",\n\"kind\": \"v.com/c\",\n\"devices\":\n"
               "[{\"name\": \"d\",\n\"containerEdits\": {\"deviceNodes\":\n[{\"path\":\n5.5}]}}]}",
               Form::json),
        ElementsAre("7: devices[0].containerEdits.deviceNodes[0].path: a number, and not a "
                    "text; put it in quotes"));
}

TEST(CdiReadTest, RefusesWhatIsNoDocument)
{
    EXPECT_THAT(faults("", Form::json), ElementsAre(HasSubstr("no JSON document")));
    EXPECT_THAT(faults("{\n\n]", Form::json), ElementsAre(HasSubstr("line 3: no JSON document")));
    EXPECT_THAT(faults("[]", Form::json), Contains("1: a list, and not a map"));
    EXPECT_THAT(faults("# nothing\n"), ElementsAre("0: an empty document"));
    EXPECT_THAT(faults("a: &x 1\nb: *x\n"), ElementsAre(HasSubstr("line 1: anchors")));
    EXPECT_THAT(faults(std::string(largest_document + 1, ' '), Form::json),
                ElementsAre(HasSubstr("larger than")));
    EXPECT_THAT(faults(std::string(largest_document + 1, '#')), ElementsAre(HasSubstr("larger")));
    EXPECT_THAT(faults(std::string(100, '[') + std::string(100, ']'), Form::json),
                ElementsAre(HasSubstr("nested in more than 16 levels")));
}

TEST(CdiReadTest, RequiresVersionKindAndDevices)
{
    EXPECT_THAT(faults("{}", Form::json), ElementsAre("1: cdiVersion is missing",
                                                      "1: kind is missing", "1: it has no device"));
    EXPECT_THAT(faults("cdiVersion: 0.9.0\nkind: nvidia\ndevices: []\n"),
                ElementsAre("1: kind 'nvidia': not VENDOR/CLASS", "1: it has no device",
                            "1: unknown cdiVersion '0.9.0'"));
}

TEST(CdiReadTest, RequiresTheVersionThatAFieldNeeds)
{
    EXPECT_THAT(
        faults("cdiVersion: 0.6.0\nkind: v.com/c\ndevices:\n- name: d\n"
               "  containerEdits: {additionalGids: [1]}\n"),
        ElementsAre("1: cdiVersion 0.6.0 is too old: device d: additionalGids needs 0.7.0"));
}

TEST(CdiReadTest, RequiresEachDeviceOnceAndWithEdits)
{
    EXPECT_THAT(faults("cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n- name: d\n"
                       "  containerEdits: {env: [A=b]}\n- name: d\n  containerEdits: {env: [A=b]}\n"
                       "- name: e\n- name: 2/5\n  containerEdits: {env: [A=b]}\n"),
                ElementsAre("6: devices[1]: device 'd' more than once",
                            "8: devices[2]: device 'e' gives a container nothing: it has no edits",
                            HasSubstr("9: devices[3]: device '2/5': the name has a character")));
}

TEST(CdiReadTest, WantsTextInQuotesIfEnginesReadItAsAnother)
{
    for (const char* name : {"00", "1.5", "0x1f", "1e3", "+1", "yes", "True", ".inf", "1_000"})
        EXPECT_THAT(faults(base::format("cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n- name: {}\n"
                                        "  containerEdits: {{env: [A=b]}}\n",
                                        name)),
                    Contains(HasSubstr("put it in quotes")))
            << name;
    for (const char* name :
         {"0", "17", "true", "\"0\"", "'0'", "GPU-0", "0:1", "1.2.3", "0000:3b:00.0", "e3"})
        EXPECT_THAT(faults(base::format("cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n- name: {}\n"
                                        "  containerEdits: {{env: [A=b]}}\n",
                                        name)),
                    IsEmpty())
            << name;
}

struct Row {
    const char* edits;
    const char* fault; ///< "" if there is none.
};

class CdiEditsTest : public ::testing::TestWithParam<Row> {};

TEST_P(CdiEditsTest, AreChecked)
{
    const auto [edits, fault] = GetParam();
    const auto found = faults(with_edits(base::format("    {}\n", edits)));
    if (*fault == '\0')
        EXPECT_THAT(found, IsEmpty());
    else
        EXPECT_THAT(found, Contains(HasSubstr(fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, CdiEditsTest,
    ::testing::Values(
        Row{"env: [A=]", ""}, Row{"env: [A]", "env 'A': not NAME=VALUE"},
        Row{"env: [=b]", "it has no name"}, Row{"env: A=b", "env: a text, and not a list"},
        Row{"deviceNodes: [{path: /dev/a, permissions: rwm}]", ""},
        Row{"deviceNodes: [{path: /dev/a, permissions: none}]", ""},
        Row{"deviceNodes: [{path: /dev/a, permissions: rx}]", "are not of r, w and m"},
        Row{"deviceNodes: [{path: /dev/a, type: x}]", "none of b, c, u and p"},
        Row{"deviceNodes: [{path: \"\"}]", "path is empty"},
        Row{"deviceNodes: [{hostPath: /dev/a}]", "path is missing"},
        Row{"deviceNodes: [{path: /dev/a, fileMode: 0660}]", ""},
        Row{"deviceNodes: [{path: /dev/a, fileMode: -1}]", "'-1' is no whole number"},
        Row{"deviceNodes: [{path: /dev/a, uid: 4294967296}]", "from 0 to 4294967295"},
        Row{"deviceNodes: [{path: /dev/a, major: 1.5}]", "'1.5' is no whole number"},
        Row{"deviceNodes: [{path: /dev/a, major: \"1\"}]", "a text, and not a number"},
        Row{"deviceNodes: [{path: /dev/a, path: /dev/b}]", "'path' more than once"},
        Row{"mounts: [{hostPath: a, containerPath: ../b}]", ""},
        Row{"mounts: [{hostPath: /a}]", "containerPath is missing"},
        Row{"mounts: [{hostPath: /a, containerPath: /b, options: ro}]", "not a list"},
        Row{"hooks: [{hookName: poststop, path: bin/a, timeout: -1}]", ""},
        Row{"hooks: [{hookName: postStop, path: /a}]", "hookName 'postStop' is none of prestart"},
        Row{"hooks: [{hookName: poststop}]", "path is missing"},
        Row{"hooks: [{hookName: poststop, path: /a, env: [A]}]", "env 'A': not NAME=VALUE"},
        Row{"netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: c, name: d}]", ""},
        Row{"netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: a, name: d}]",
            "network device 'a' more than once"},
        Row{"netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: c, name: b}]",
            "network name 'b' more than once"},
        Row{"netDevices: [{name: b}]", "hostInterfaceName is missing"},
        Row{"intelRdt: {closID: /}", ""}, Row{"intelRdt: {closID: a/b}", "no name of a group"},
        Row{"intelRdt: {closID: \"..\"}", "no name of a group"},
        Row{"intelRdt: {enableMonitoring: 1}", "a number, and not true or false"},
        Row{"intelRdt: {enableCMT: true}", "unknown field 'enableCMT'"},
        Row{"additionalGids: [0, 44]", ""}, Row{"additionalGids: [-1]", "'-1' is no whole number"},
        Row{"additionalGids: [video]", "a text, and not a number"},
        Row{"unknown: 1", "unknown field 'unknown'"}));

TEST(CdiReadTest, ShowsHostileTextSafely)
{
    const auto found = faults("{\"\\u001b[31m" + std::string(500, 'x') + "\": 1}", Form::json);

    EXPECT_THAT(found, Contains("1: unknown field '?[31m" + std::string(75, 'x') + "...'"));
}

TEST(CdiReadTest, ReportsNotMoreThanAPersonReads)
{
    std::string text = "{";
    for (int i = 0; i < 1000; ++i)
        text += base::format("{}\"f{}\": 1", i == 0 ? "" : ",", i);

    EXPECT_EQ(faults(text + "}", Form::json).size(), 50U);
}

} // namespace
} // namespace gpucontainer::cdi

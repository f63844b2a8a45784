// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "config/catalogue_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// The parts of a description, one of which a test changes.
struct Parts {
    std::string frame = "  title: Acme\n  kind: acme.com/gpu\n  module: acme_gpu\n";
    std::string gpus = "    driver: acme\n"
                       "    class: accel\n"
                       "    name: accel{number}\n"
                       "    order: number\n";
    std::string nodes = "    - path: /dev/accel/accel{number}\n";
    std::string more = "";

    std::string text() const
    {
        return base::format("vendor: acme\nmaker:\n{}  gpus:\n{}  nodes:\n{}{}", frame, gpus, nodes,
                            more);
    }
};

std::string problem_with(const Parts& parts)
{
    const auto file = parse_catalogue(parts.text());
    return file ? "" : file.error().message();
}

std::string problem_with_node(const std::string& node)
{
    Parts parts;
    parts.nodes = base::format("    - {{{}}}\n", node);
    return problem_with(parts);
}

std::string problem_with_gpus(const std::string& gpus)
{
    Parts parts;
    parts.gpus = base::format("    {{{}}}\n", gpus);
    return problem_with(parts);
}

TEST(MakerSection, DescribesGpusOfAClass)
{
    Parts parts;
    parts.gpus += "    pci-vendor: \"0x1e52\"\n"
                  "    models: [{device: \"0x401e\", name: Acme One}]\n"
                  "    uuid: serial\n";
    parts.nodes += "    - {path: /dev/acme_ctl, major: acme-ctl, minor: 3, optional: true}\n"
                   "    - {path: /dev/dri/renderD*, class: drm, capability: graphics}\n";
    parts.more = "  variables:\n"
                 "    - {name: ACME_VISIBLE, reader: runtime, inside: name, prefix: accel}\n"
                 "  needs: [something else]\n"
                 "  directories: [/usr/lib/acme]\n"
                 "files:\n"
                 "  - {library: libacme.so.1, capability: compute, reason: a test}\n";

    const auto file = parse_catalogue(parts.text());

    ASSERT_TRUE(file) << file.error().message();
    ASSERT_NE(file->maker, nullptr);
    const Maker& maker = *file->maker;
    EXPECT_EQ(maker.name, "acme");
    EXPECT_EQ(maker.kind, "acme.com/gpu");
    EXPECT_EQ(maker.device_name, "accel{number}");
    EXPECT_FALSE(maker.by_address);
    EXPECT_EQ(maker.pci_vendor, 0x1e52);
    ASSERT_THAT(maker.models, SizeIs(1));
    EXPECT_EQ(maker.models[0].device, 0x401e);
    EXPECT_EQ(maker.models[0].name, "Acme One");
    ASSERT_THAT(maker.nodes, SizeIs(3));
    EXPECT_EQ(maker.nodes[0].in_class, "accel") << "that of the GPUs";
    EXPECT_EQ(maker.nodes[1].in_class, "");
    EXPECT_EQ(maker.nodes[1].minor, 3U);
    EXPECT_TRUE(maker.nodes[1].optional);
    EXPECT_EQ(maker.nodes[2].capability, "graphics");
    ASSERT_THAT(maker.variables, SizeIs(1));
    EXPECT_EQ(maker.variables[0].prefix, "accel");
    EXPECT_THAT(maker.needs, ElementsAre("something else"));
    EXPECT_THAT(maker.directories, ElementsAre("/usr/lib/acme"));
    EXPECT_THAT(file->rules, SizeIs(1));
}

TEST(MakerSection, DescribesGpusOnTheBus)
{
    Parts parts;
    parts.gpus = "    {driver: acme, pci-vendor: \"0x1e3e\", pci-class: \"0x1200\"}\n";
    parts.nodes = "    - {path: \"/dev/acme*\", class: acme}\n";

    const auto file = parse_catalogue(parts.text());

    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->maker->by_address);
    EXPECT_EQ(file->maker->pci_class, 0x1200);
    EXPECT_EQ(file->maker->nodes[0].minor, std::nullopt);
    EXPECT_TRUE(file->rules.empty()) << "files may be left out";
}

TEST(MakerSection, LivesAsLongAsItsMaker)
{
    std::shared_ptr<const Maker> maker;
    {
        std::string text = Parts().text();
        const auto file = parse_catalogue(text);
        ASSERT_TRUE(file) << file.error().message();
        maker = file->maker;
        text.assign(text.size(), 'x');
    }

    EXPECT_EQ(maker->title, "Acme");
    EXPECT_EQ(maker->nodes[0].path, "/dev/accel/accel{number}");
}

TEST(MakerSection, ConfinesNodes)
{
    for (const std::string path :
         {"/dev", "/dev/", "/etc/passwd", "/dev/../etc/a{number}", "/dev/./a", "/dev//a",
          "/dev/.hidden", "dev/a", "/devices/a", "/dev/a b", "/dev/a{number}{number}",
          "/dev/a{number}*", "/dev/**", "/dev/{minor}", "/dev/a}", "/dev/*/*"})
        EXPECT_THAT(problem_with_node(base::format("path: \"{}\"", path)),
                    HasSubstr("is not a plain path below /dev"))
            << path;
    EXPECT_THAT(problem_with_node("path: /dev/" + std::string(200, 'a')), HasSubstr("plain path"));
    for (const std::string name :
         {"mem", "tty", "vc", "vcs", "input", "vfio", "kfd", "../mem", "a/b", ".", ".."}) {
        EXPECT_THAT(problem_with_node(base::format("path: /dev/a, class: \"{}\"", name)),
                    HasSubstr("is not the name of a class that GPUs are in"));
        EXPECT_THAT(problem_with_node(base::format("path: /dev/a, major: \"{}\", minor: 1", name)),
                    HasSubstr("is not the name of a class that GPUs are in"));
    }
}

TEST(MakerSection, WantsToKnowANodesNumber)
{
    EXPECT_EQ(problem_with_node("path: /dev/a, class: x, major: x, minor: 1"),
              "line 12: a node has either class or major");
    EXPECT_EQ(problem_with_node("path: /dev/a, minor: 1"),
              "line 12: minor is for a node with major");
    EXPECT_EQ(problem_with_node("path: /dev/a, major: x"), "line 12: minor is missing");
    EXPECT_EQ(problem_with_node("path: \"/dev/a{number}\", major: x"), "");
    EXPECT_THAT(problem_with_node("path: \"/dev/a*\", major: x, minor: 1"),
                HasSubstr("needs class"));
    EXPECT_THAT(problem_with_node("path: /dev/a, major: x, minor: 1048576"),
                HasSubstr("no number that a node can have"));
    Parts on_bus;
    on_bus.gpus = "    {driver: acme, pci-vendor: \"0x1e3e\", pci-class: \"0x1200\"}\n";
    on_bus.nodes = "    - {path: \"/dev/acme{number}\", major: acme}\n";
    EXPECT_THAT(problem_with(on_bus), HasSubstr("which only GPUs have that are in a class"));
    on_bus.nodes = "    - {path: /dev/acme}\n";
    EXPECT_THAT(problem_with(on_bus), HasSubstr("a node needs class or major"));
}

TEST(MakerSection, ConfinesGpus)
{
    const std::string bus = "pci-vendor: \"0x1e52\"";
    EXPECT_EQ(problem_with_gpus("class: accel, name: \"accel{number}\", order: number"),
              "line 7: driver is missing");
    EXPECT_THAT(problem_with_gpus("driver: ../x, class: a, name: \"a{number}\", order: number"),
                HasSubstr("driver \"../x\" is not a name"));
    for (const std::string name : {"accel", "{number}a", "a{number}{number}", "a/{number}", "*"})
        EXPECT_THAT(problem_with_gpus(
                        base::format("driver: x, class: a, order: number, name: \"{}\"", name)),
                    HasSubstr("is not a name that ends in {number}"))
            << name;
    EXPECT_THAT(problem_with_gpus("driver: x, class: tty, name: \"a{number}\", order: number"),
                HasSubstr("is not the name of a class that GPUs are in"));
    EXPECT_THAT(problem_with_gpus("driver: x, class: a, name: \"a{number}\", order: random"),
                HasSubstr("unknown order \"random\""));
    EXPECT_THAT(problem_with_gpus("driver: x, " + bus), HasSubstr("is not said"));
    EXPECT_THAT(problem_with_gpus("driver: x, pci-class: \"0x1200\""),
                HasSubstr("pci-vendor is missing"));
    EXPECT_THAT(problem_with_gpus("driver: x, order: number, " + bus),
                HasSubstr("order needs class"));
    for (const std::string id : {"1e52", "0x1e5", "0x1e520", "0xffff", "0x1e5g"})
        EXPECT_THAT(problem_with_gpus(
                        base::format("driver: x, pci-class: \"0x1200\", pci-vendor: \"{}\"", id)),
                    HasSubstr("is not of the form 0x1a2b"))
            << id;
}

TEST(MakerSection, NamesWhatIsMissingOrUnknown)
{
    Parts parts;
    parts.frame = "  title: Acme\n  kind: acme\n  module: acme\n";
    EXPECT_EQ(problem_with(parts), "line 4: kind \"acme\" is not of the form vendor.com/class");
    parts = {};
    parts.more = "  command: /bin/sh\n";
    EXPECT_THAT(problem_with(parts), HasSubstr("unknown key \"command\""));
    parts = {};
    parts.more = "  variables: [{name: A_DEVICES, reader: toolkit, inside: name}]\n";
    EXPECT_THAT(problem_with(parts), HasSubstr("unknown reader \"toolkit\""));
    parts.more = "  directories: [/proc/self/root]\n";
    EXPECT_THAT(problem_with(parts), HasSubstr("is not a plain absolute path for libraries"));
    EXPECT_EQ(parse_catalogue("vendor: acme\nmaker: {title: Acme}\n").error().message(),
              "line 2: kind is missing");
}

TEST(MakerSection, HasVariablesThatChooseGpusAlone)
{
    Parts parts;
    const auto problem_with_variable = [&](const std::string& name) {
        parts.more =
            base::format("  variables: [{{name: {}, reader: library, inside: position}}]\n", name);
        return problem_with(parts);
    };
    for (const char* const name : {"TT_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES", "RBLN_DEVICES",
                                   "ACME_AFFINITY_MASK", "ACME_GPUS"})
        EXPECT_EQ(problem_with_variable(name), "");
    for (const char* const name :
         {"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "lower_DEVICES", "GPUCTR_DEVICE",
          "SLURM_JOB_GPUS", "INVISIBLE", "_DEVICES", "0_DEVICES"})
        EXPECT_THAT(problem_with_variable(name),
                    HasSubstr("is not a name of a variable that chooses GPUs"))
            << name;
}

TEST(MakerSection, NeedsANodeOfEachGpu)
{
    const std::string problem =
        "line 11: no node is of one GPU and needed (needed: one with {number} or * in its path "
        "that is not optional)";
    EXPECT_EQ(problem_with_node("path: /dev/a"), problem);
    EXPECT_EQ(problem_with_node("path: \"/dev/a{number}\", optional: true"), problem);
    EXPECT_EQ(problem_with_node("path: \"/dev/a*\", class: x"), "");
}

TEST(MakerSection, HasNamesThatLookLikeNoOthers)
{
    for (const char* const title :
         {"NVІDIA", "Acme\u202e", "\"Acme\\x85\"", "Acmé", "Ac\u200bme"}) {
        Parts parts;
        parts.frame = base::format("  title: {}\n  kind: acme.com/gpu\n  module: a\n", title);
        EXPECT_THAT(problem_with(parts), HasSubstr("is not one line of at most 200 bytes in ASCII"))
            << title;
        parts = {};
        parts.more = base::format("  needs: [{}]\n", title);
        EXPECT_THAT(problem_with(parts), HasSubstr("in ASCII")) << title;
    }
}

TEST(MakerSection, HasNamesThatARecordHasToo)
{
    EXPECT_THAT(problem_with_gpus("driver: x, class: a, name: \"a+{number}\", order: number"),
                HasSubstr("is not a name that ends in {number}"));
    Parts parts;
    parts.more = "  variables: [{name: A_DEVICES, reader: filter, inside: name, prefix: a+}]\n";
    EXPECT_THAT(problem_with(parts), HasSubstr("prefix \"a+\" is not a name"));
}

TEST(MakerSection, IsBounded)
{
    Parts parts;
    for (int i = 0; i < 32; ++i)
        parts.nodes += base::format("    - path: /dev/accel/a{}\n", i);
    EXPECT_THAT(problem_with(parts), HasSubstr("more than 32 nodes"));
    parts = {};
    parts.frame =
        base::format("  title: {}\n  kind: acme.com/gpu\n  module: a\n", std::string(201, 'a'));
    EXPECT_THAT(problem_with(parts), HasSubstr("is not one line of at most 200 bytes"));
}

} // namespace
} // namespace gpucontainer::config

// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "config/catalogue_file.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

std::string problem_with(std::string_view yaml)
{
    const auto file = parse_catalogue(yaml);
    return file ? "" : file.error().message();
}

/// A catalogue with these lines as its only rule, from line 3 on.
std::string problem_with_rule(std::string_view rule)
{
    return problem_with(base::format("vendor: nvidia\nfiles:\n{}", rule));
}

std::string problem_with_name(std::string_view key, std::string_view name)
{
    return problem_with_rule(
        base::format("- {}: {}\n  capability: compute\n  reason: a test\n", key, name));
}

TEST(CatalogueFile, ReadsRules)
{
    const auto file = parse_catalogue("vendor: nvidia\n"
                                      "files:\n"
                                      "  - library: libcuda.so.1\n"
                                      "    capability: compute\n"
                                      "    also: graphics\n"
                                      "    entry: true\n"
                                      "    unversioned: true\n"
                                      "    reason: CUDA driver API\n"
                                      "  - {tool: nvidia-smi, capability: none, reason: a test}\n");

    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->vendor, "nvidia");
    EXPECT_EQ(file->vendor_line, 1U);
    const std::vector<FileRule>& rules = file->rules;
    ASSERT_EQ(rules.size(), 2U);
    const FileRule& library = rules.at(0);
    EXPECT_EQ(library.line, 3U);
    EXPECT_EQ(library.vendor, "nvidia");
    EXPECT_EQ(library.kind, FileRule::Kind::library);
    EXPECT_EQ(library.name, "libcuda.so.1");
    EXPECT_EQ(library.capability, "compute");
    EXPECT_EQ(library.also, "graphics");
    EXPECT_TRUE(library.entry);
    EXPECT_TRUE(library.unversioned);
    EXPECT_EQ(library.reason, "CUDA driver API");
    const FileRule& tool = rules.at(1);
    EXPECT_EQ(tool.line, 9U);
    EXPECT_EQ(tool.kind, FileRule::Kind::tool);
    EXPECT_EQ(tool.name, "nvidia-smi");
    EXPECT_EQ(tool.capability, "none");
    EXPECT_EQ(tool.also, "none");
    EXPECT_EQ(library.icd, "");
    EXPECT_FALSE(library.own);
    EXPECT_FALSE(tool.entry);
    EXPECT_FALSE(tool.unversioned);
}

TEST(CatalogueFile, ReadsWhatSpeaksOfOpenClRuntimesAndData)
{
    const auto file = parse_catalogue(
        "vendor: amd\n"
        "files:\n"
        "  - {library: libamdocl64.so, capability: compute, icd: amdocl64.icd, own: true, reason: "
        "a}\n"
        "  - {library: radeonsi_drv_video.so, capability: video, module: dri, reason: a}\n"
        "  - {data: /usr/share/libdrm/amdgpu.ids, capability: compute, reason: names of GPUs}\n");

    ASSERT_TRUE(file) << file.error().message();
    const std::vector<FileRule>& rules = file->rules;
    EXPECT_EQ(rules.at(0).icd, "amdocl64.icd");
    EXPECT_TRUE(rules.at(0).own);
    EXPECT_EQ(rules.at(0).module, "");
    EXPECT_EQ(rules.at(1).module, "dri");
    EXPECT_EQ(rules.at(2).kind, FileRule::Kind::data);
    EXPECT_EQ(rules.at(2).name, "/usr/share/libdrm/amdgpu.ids");
}

TEST(CatalogueFile, HasDataOfPlainPathsThatAreNotTheContainersOwn)
{
    for (const char* const path : {"usr/share/x", "/usr", "/", "/usr/../etc/x", "/usr//x",
                                   "/usr/x/", "/usr/.x", "\"/usr/x y\"", "/usr/x\\n"})
        EXPECT_NE(problem_with_name("data", path).find("is not a plain absolute path"),
                  std::string::npos)
            << path;
    EXPECT_EQ(problem_with_name("data", "/etc/OpenCL/vendors"),
              "line 3: data /etc/OpenCL/vendors is below /etc");
    EXPECT_EQ(problem_with_name("data", "/dev/kfd"), "line 3: data /dev/kfd is below /dev");
    EXPECT_EQ(problem_with_name("data", "/opt/rocm/amdgcn/bitcode"), "");
}

TEST(CatalogueFile, HasOpenClFilesOfPlainNames)
{
    for (const char* const name : {"x", "../x.icd", "a/x.icd", ".x.icd", "x.icd/"})
        EXPECT_NE(
            problem_with_rule(
                base::format("- {{library: liba.so, capability: compute, icd: {}, reason: a}}\n",
                             name))
                .find("is not a file name NAME.icd"),
            std::string::npos)
            << name;
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: compute\n  icd: a.icd\n"),
              "line 5: icd is for libraries, and a is a tool");
    EXPECT_EQ(problem_with_rule("- data: /usr/a\n  capability: compute\n  own: true\n"),
              "line 5: own is for libraries, and /usr/a is data");
}

TEST(CatalogueFile, ReadsWhatSpeaksOfGraphics)
{
    const auto file = parse_catalogue(
        "vendor: nvidia\n"
        "files:\n"
        "  - {library: liba.so.1, capability: graphics, reason: a, module: gbm/a_gbm.so,\n"
        "     manifests: [vulkan_icd/a.json, egl_vendor/10_a.json],\n"
        "     loads: [libb.so.1, \"libc.so.{version}\"], links: [libd.so.0], neutral: true}\n"
        "  - {data: \"/usr/share/a/{version}-rc\", capability: firmware, reason: a}\n"
        "  - {data: /usr/lib/a/b.dll, capability: ngx, module: a, reason: a}\n");

    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->rules.at(0).module, "gbm/a_gbm.so");
    EXPECT_EQ(file->rules.at(0).manifests, "vulkan_icd/a.json,egl_vendor/10_a.json");
    EXPECT_EQ(file->rules.at(0).loads, "libb.so.1,libc.so.{version}");
    EXPECT_EQ(file->rules.at(0).links, "libd.so.0");
    EXPECT_TRUE(file->rules.at(0).neutral);
    EXPECT_EQ(file->rules.at(1).name, "/usr/share/a/{version}-rc");
    EXPECT_FALSE(file->rules.at(1).neutral);
    EXPECT_EQ(file->rules.at(2).module, "a");
}

TEST(CatalogueFile, HasManifestsAndLoadedLibrariesOfPlainNames)
{
    const auto problem_with_list = [](std::string_view key, std::string_view value) {
        return problem_with_rule(base::format(
            "- {{library: liba.so, capability: graphics, {}: {}, reason: a}}\n", key, value));
    };
    for (const char* const name :
         {"[a.json]", "[vulkan_icd/a]", "[vulkan_icd/../a.json]", "[vulkan_icd/.a.json]",
          "[opencl_icd/a.json]", "[\"vulkan_icd/a,b.json\"]", "[[]]"})
        EXPECT_NE(problem_with_list("manifests", name).find("is not MANNER/NAME.json"),
                  std::string::npos)
            << name;
    for (const char* const name : {"[a]", "[\"liba.so/b\"]", "[\"liba.so,libb.so\"]", "[{}]"})
        EXPECT_NE(problem_with_list("loads", name).find("is not the name of a library"),
                  std::string::npos)
            << name;
    for (const char* const key : {"manifests", "loads"}) {
        EXPECT_EQ(problem_with_list(key, "a"),
                  base::format("line 3: {} is not a list of at most 16", key));
        EXPECT_EQ(
            problem_with_rule(base::format("- tool: a\n  capability: video\n  {}: []\n", key)),
            base::format("line 5: {} is for libraries, and a is a tool", key));
    }
}

TEST(CatalogueFile, HasModulesInDirectoriesOfPlainNames)
{
    for (const char* const name : {"..", "a/../b", "/dri", ".dri", "dri/"})
        EXPECT_NE(problem_with_rule(base::format("- {{library: liba.so, capability: video, module: "
                                                 "{}, reason: a}}\n",
                                                 name))
                      .find("is not the name of a directory"),
                  std::string::npos)
            << name;
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: video\n  module: dri\n"),
              "line 5: module is for libraries, and a is a tool");
}

TEST(CatalogueFile, MayHaveNoRules)
{
    const auto file = parse_catalogue("vendor: amd\nfiles: []\n");

    ASSERT_TRUE(file);
    EXPECT_TRUE(file->rules.empty());
}

TEST(CatalogueFile, NamesTheMistakeInTheFrame)
{
    EXPECT_EQ(problem_with("- a\n"),
              "line 1: a catalogue is not a map (allowed keys: vendor, maker, files)");
    EXPECT_EQ(problem_with("vendor: nvidia\nrules: []\n"),
              "line 2: unknown key \"rules\" (allowed: vendor, maker, files)");
    EXPECT_EQ(problem_with("files: []\n"), "line 1: vendor is missing");
    EXPECT_EQ(problem_with("vendor: acme\nfiles: []\n"), "") << "the registry knows who there is";
    const std::vector<std::string> others = {"Acme", "acme/x", "0acme", "any",
                                             std::string(33, 'a')};
    for (const std::string& name : others)
        EXPECT_EQ(problem_with(base::format("vendor: {}\nfiles: []\n", name)),
                  base::format("line 1: vendor \"{}\" is not a name of one (allowed: small "
                               "letters, digits and -)",
                               name));
    EXPECT_EQ(problem_with("vendor: nvidia\n"), "line 1: files is missing");
    EXPECT_EQ(problem_with("vendor: nvidia\nfiles: all\n"), "line 2: files is not a list");
    EXPECT_EQ(problem_with("vendor: nvidia\nvendor: amd\n"), "line 2: key vendor is repeated");
    EXPECT_EQ(problem_with("vendor: nvidia\nfiles: {\n"), "line 3: end of map flow not found");
}

TEST(CatalogueFile, NamesTheMistakeInARule)
{
    EXPECT_EQ(
        problem_with_rule("- libcuda.so.1\n"),
        "line 3: a rule is not a map (allowed keys: library, tool, data, capability, also, entry, "
        "unversioned, icd, module, own, manifests, loads, neutral, links, reason)");
    EXPECT_EQ(
        problem_with_rule("- tool: a\n  colour: red\n"),
        "line 4: unknown key \"colour\" (allowed: library, tool, data, capability, also, entry, "
        "unversioned, icd, module, own, manifests, loads, neutral, links, reason)");
    EXPECT_EQ(problem_with_rule("- tool: a\n  [b]: red\n"),
              "line 4: unknown key \"\" (allowed: library, tool, data, capability, also, entry, "
              "unversioned, icd, module, own, manifests, loads, neutral, links, reason)");
    EXPECT_EQ(problem_with_rule("- capability: compute\n"),
              "line 3: a rule names one file (needed: one of library, tool and data)");
    EXPECT_EQ(problem_with_rule("- tool: a\n  library: liba.so\n"),
              "line 3: a rule names one file (needed: one of library, tool and data)");
    EXPECT_EQ(problem_with_rule("- tool: a\n  tool: b\n"), "line 4: key tool is repeated");
    EXPECT_EQ(problem_with_rule("- tool: a\n"), "line 3: capability is missing");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: magic\n"),
              "line 4: unknown capability \"magic\" (allowed: none, compute, utility, graphics, "
              "video, display, ngx, firmware, compat32)");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: [compute]\n"),
              "line 4: capability is not a single value");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: ngx\n  also: all\n"),
              "line 5: unknown also \"all\" (allowed: none, compute, utility, graphics, video, "
              "display, ngx, firmware, compat32)");
    EXPECT_EQ(problem_with_rule("- library: liba.so\n  capability: ngx\n  entry: yes\n"),
              "line 5: unknown entry \"yes\" (allowed: true, false)");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: ngx\n  entry: false\n"),
              "line 5: entry is for libraries, and a is a tool");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: ngx\n"), "line 3: reason is missing");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: ngx\n  reason:\n"),
              "line 5: reason is empty");
    EXPECT_EQ(problem_with_rule("- tool: a\n  capability: ngx\n  reason: \"b\\nc\"\n"),
              "line 3: reason of a is not one line of at most 200 bytes");
}

TEST(CatalogueFile, NamesTheMistakeInAName)
{
    EXPECT_EQ(problem_with_name("tool", ""), "line 3: tool is empty");
    EXPECT_EQ(problem_with_name("tool", "../bin/sh"),
              "line 3: name \"../bin/sh\" is not a file name (allowed: letters, digits, . _ + -)");
    EXPECT_EQ(problem_with_name("tool", ".."),
              "line 3: name \"..\" is not a file name (allowed: letters, digits, . _ + -)");
    EXPECT_EQ(problem_with_name("tool", "\"a\\e[31m\""),
              "line 3: name \"a?[31m\" is not a file name (allowed: letters, digits, . _ + -)");
    EXPECT_EQ(problem_with_name("tool", "\"smi-{version}\""),
              "line 3: name \"smi-{version}\" is not a file name (allowed: letters, digits, . _ + "
              "-)");
    EXPECT_EQ(problem_with_name("library", "lib/cuda.so.1"),
              "line 3: name \"lib/cuda.so.1\" is not a file name (allowed: letters, digits, . _ + "
              "- and one {version})");
    EXPECT_EQ(problem_with_name("library", "liba.so.{version}.{version}"),
              "line 3: name \"liba.so.{version}.{version}\" is not a file name (allowed: letters, "
              "digits, . _ + - and one {version})");
    EXPECT_EQ(problem_with_name("library", "libcuda"),
              "line 3: libcuda is not the name of a library (allowed: NAME.so, NAME.so.VERSION)");
    EXPECT_EQ(problem_with_name("tool", std::string(200, 'a')),
              "line 3: name \"" + std::string(60, 'a') + "...\" is longer than 128 characters");
}

TEST(CatalogueFile, HasOneRuleForAFile)
{
    constexpr auto two = "vendor: nvidia\n"
                         "files:\n"
                         "- {{{}: {}, capability: compute, reason: a test}}\n"
                         "- {{{}: {}, capability: compute, reason: a test}}\n";

    EXPECT_EQ(problem_with(base::format(two, "tool", "a", "tool", "a")),
              "line 4: a has a rule already, in line 3");
    EXPECT_EQ(problem_with(base::format(two, "library", "liba.so.1", "library", "liba.so.2")),
              "line 4: liba.so.2 has a rule already, in line 3");
    EXPECT_EQ(problem_with(base::format(two, "library", "liba.so", "tool", "liba.so")), "");
    EXPECT_EQ(problem_with(base::format(two, "library", "liba.so.1", "library", "liba70.so.1")),
              "");
}

TEST(CatalogueFile, BoundsTheNumberOfRules)
{
    std::string yaml = "vendor: nvidia\nfiles:\n";
    for (int i = 0; i < 4097; ++i)
        yaml += base::format("- {{tool: t{}}}\n", i);

    EXPECT_EQ(problem_with(yaml), "line 2: more than 4096 rules");
}

} // namespace
} // namespace gpucontainer::config

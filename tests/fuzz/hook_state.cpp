// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"
#include "import/cdi_config.hpp"
#include "import/edited_config.hpp"
#include "import/oci_document.hpp"

#include <fstream>
#include <string>

namespace gpucontainer::fuzz {

namespace {

constexpr std::string_view edits = R"({
    "files": [{"path": "/nowhere", "content": "x"}], "unset_env": ["A"],
    "process": {"env": ["B=1"], "user": {"additionalGids": [44]}},
    "mounts": [{"destination": "/a", "source": "/b"}, {"destination": "/c", "source": "/nowhere"}],
    "linux": {"devices": [{"path": "/dev/x"}], "resources": {"devices": [{"allow": true}]}}})";

/// What comes of it can be read again.
void edit(std::string_view config)
{
    const auto once = imports::edited_config(config, edits);
    if (!once) {
        demand(once.error().code() == Errc::usage, "what is wrong is the text");
        return;
    }
    // Characters that are escaped make a document longer.
    demand(once->size() > imports::largest_document || imports::edited_config(*once, edits),
           "what was edited can be edited");
}

/// The same with the edits of devices of CDI.
void edit_by_cdi(std::string_view config)
{
    cdi::Edits all;
    all.env = {"B=1"};
    all.nodes = {{"/dev/x", "", "c", 1, 3}};
    all.mounts = {{"/b", "/a"}};
    all.hooks = {{"poststop", "/h"}};
    all.net_devices = {{"a", "b"}};
    all.rdt = cdi::Rdt{"one"};
    all.additional_gids = {44};
    const auto once = imports::config_with_edits(config, all);
    if (!once)
        demand(once.error().code() == Errc::usage, "what is wrong is the text");
    else
        demand(once->size() > imports::largest_document || imports::config_with_edits(*once, all),
               "what was edited can be edited");
}

} // namespace

/// The input is the configuration of a bundle, and the state of its container as well.
void run(std::string_view input)
{
    edit(input);
    edit_by_cdi(input);
    (void)imports::read_hook_config(input);
    static const Scratch bundle({}, {});
    std::ofstream(bundle.path() / "config.json", std::ios::binary) << input;
    const std::string known =
        base::format(R"({{"pid": 1, "bundle": "{}"}})", bundle.path().string());
    for (const std::string_view text : {std::string_view(known), input}) {
        const auto state = imports::read_hook_state(text);
        if (!state) {
            demand(state.error().code() == Errc::usage, "what is wrong is the text");
            continue;
        }
        demand(state->pid >= 0, "a process has a number");
        demand(state->rootfs.starts_with('/'), "the root directory has an absolute path");
        demand(state->rootfs.find('\0') == std::string::npos, "that path has no terminator");
        for (const std::string& variable : state->variables)
            demand(variable.find('=') != std::string::npos
                       && variable.find('\0') == std::string::npos,
                   "a variable is NAME=VALUE");
    }
}

} // namespace gpucontainer::fuzz

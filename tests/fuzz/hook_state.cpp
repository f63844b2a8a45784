// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"
#include "import/cdi_config.hpp"
#include "import/edited_config.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
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

bool is_line(std::string_view text) { return std::ranges::none_of(text, base::is_control); }

/// The last value of a variable in a configuration that was parsed as a whole; "" if it has none.
std::string value_in(const nlohmann::json& config, const std::string& name)
{
    const auto* const env = imports::member(imports::member(&config, "process"), "env");
    std::string value;
    if (env != nullptr && env->is_array())
        for (const auto& one : *env)
            if (one.is_string() && one.get_ref<const std::string&>().starts_with(name + "="))
                value = one.get<std::string>().substr(name.size() + 1);
    return value;
}

void check_state(const imports::HookState& state)
{
    demand(state.pid >= 0, "a process has a number");
    demand(state.rootfs.find('\0') == std::string::npos, "that path has no terminator");
    demand(is_line(state.fault) && state.fault.size() < 1000, "a fault is one line");
    for (const std::string& variable : state.variables)
        demand(variable.find('=') != std::string::npos && variable.find('\0') == std::string::npos,
               "a variable is NAME=VALUE");
}

/// What is kept while it is parsed is what is in it.
void read_config(std::string_view input)
{
    const imports::HookState state = imports::read_hook_config(input, imports::all_wishes);
    check_state(state);
    const auto whole = imports::parse_document(input);
    if (!state.fault.empty())
        return;
    demand(whole || input.size() > imports::largest_document, "what is understood is JSON");
    const std::string name = "NVIDIA_DRIVER_CAPABILITIES";
    const std::string value = whole ? value_in(*whole, name) : "";
    demand(!whole || value.empty() || std::ranges::count(state.variables, name + "=" + value) == 1,
           "the last value counts");
}

/// The input is the configuration of a bundle, and the state of its container as well.
void run(std::string_view input)
{
    edit(input);
    edit_by_cdi(input);
    read_config(input);
    static const Scratch bundle({}, {});
    std::ofstream(bundle.path() / "config.json", std::ios::binary) << input;
    const std::string known =
        base::format(R"({{"pid": 1, "bundle": "{}"}})", bundle.path().string());
    for (const std::string_view text : {std::string_view(known), input}) {
        const auto state = imports::read_hook_state(text, imports::all_wishes);
        if (!state) {
            demand(state.error().code() == Errc::usage, "what is wrong is the text");
            continue;
        }
        check_state(*state);
        demand(state->rootfs.starts_with('/'), "the root directory has an absolute path");
    }
}

} // namespace gpucontainer::fuzz

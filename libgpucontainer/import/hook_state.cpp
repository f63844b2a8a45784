// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "import/oci_config.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <utility>
#include <vector>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t largest_pid = 1 << 22; // PID_MAX_LIMIT of the kernel

/// crun names none, or 0, at the stage createContainer.
Result<int> pid_of(const Json& state)
{
    const Json* const pid = member(&state, "pid");
    if (pid == nullptr)
        return 0;
    if (!pid->is_number_integer() || *pid < 0 || *pid > largest_pid)
        return Error(Errc::usage, "the state of the container has a pid that is none");
    return pid->get<int>();
}

/// What of a configuration counts.
const std::vector<std::string_view>& parts_that_count()
{
    static const std::vector<std::string_view> parts = [] {
        std::vector<std::string_view> all = {"root/path"};
        all.insert(all.end(), parts_with_variables.begin(), parts_with_variables.end());
        all.insert(all.end(), parts_about_privileges.begin(), parts_about_privileges.end());
        return all;
    }();
    return parts;
}

/// What a plan reads besides what makers do.
constexpr std::array<std::string_view, 2> other_variables = {"LD_LIBRARY_PATH", "PATH"};

/// A configuration of megabytes has little that counts.
bool counts(std::string_view name, const Json& element)
{
    if (name == "mounts/*")
        return is_mount_of_maker(element);
    if (!base::to_lower(name).ends_with("/env/*") || !element.is_string())
        return true;
    const std::string_view text = element.get_ref<const std::string&>();
    const std::string_view variable = text.substr(0, text.find('='));
    return is_variable_of_maker(variable) || has_prefix_of_maker(variable)
           || std::ranges::find(other_variables, variable) != other_variables.end();
}

std::string root_of(const Json& configuration)
{
    const Json* const root = member(&configuration, "root");
    return std::string(root == nullptr ? "" : text_of(*root, "path"));
}

HookState state_of(Parts parts, AcceptedWishes accepted)
{
    HookState state;
    Wishes wishes = wishes_of(parts, accepted);
    for (const auto& [name, value] : wishes.variables)
        state.variables.push_back(base::format("{}={}", name, value));
    state.vendors = std::move(wishes.vendors);
    state.names_gpus = wishes.names_gpus;
    state.refused = std::move(wishes.refused);
    state.rootfs = root_of(parts.kept);
    state.fault = std::move(parts.fault);
    return state;
}

Result<HookState> read_bundle(const std::string& bundle, AcceptedWishes accepted)
{
    const std::string path = bundle + "/config.json";
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file)
        return Error::from_errno(errno, path).with_code(Errc::usage);
    auto parts = read_parts(file.get(), {parts_that_count(), counts});
    if (!parts)
        return std::move(parts).error().with_code(Errc::usage).context(path);
    HookState state = state_of(*std::move(parts), accepted);
    if (state.fault.empty() && state.rootfs.empty())
        state.fault = "it names no root directory (root.path)";
    if (!state.fault.empty())
        state.fault = base::format("{}: {}", path, state.fault);
    if (!state.rootfs.starts_with('/'))
        state.rootfs = base::format("{}/{}", bundle, state.rootfs);
    return state;
}

} // namespace

Result<HookState> read_hook_state(std::string_view text, AcceptedWishes accepted)
{
    GPUCTR_TRY(const Json document, parse_document(text), "the state of the container");
    GPUCTR_TRY(const int pid, pid_of(document));
    const std::string bundle(text_of(document, "bundle"));
    if (!bundle.starts_with('/'))
        return Error(Errc::usage, "the state of the container names no bundle by an absolute path");
    GPUCTR_TRY(HookState state, read_bundle(bundle, accepted));
    state.pid = pid;
    state.bundle = bundle;
    return state;
}

HookState read_hook_config(std::string_view text, AcceptedWishes accepted)
{
    return state_of(read_parts(text, {parts_that_count(), counts}), accepted);
}

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "import/oci_config.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

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

Result<std::string> root_of(const Json& configuration, const std::string& bundle)
{
    const Json* const root = member(&configuration, "root");
    const std::string path(root == nullptr ? "" : text_of(*root, "path"));
    if (path.empty())
        return Error(Errc::usage, "it names no root directory (root.path)");
    return path.starts_with('/') ? path : base::format("{}/{}", bundle, path);
}

/// Whether a container asks for something of a vendor: neither nothing nor "void". A path stands
/// for the mounts below it, which were read, and none is there.
bool asks_for(const drivers::Vendor& vendor, const Variables& variables)
{
    const auto found = variables.find(std::string(vendor.container.devices));
    if (vendor.container.devices.empty() || found == variables.end())
        return false;
    const std::string value = base::to_lower(base::trim(found->second));
    return !value.empty() && value != "void" && !value.starts_with('/');
}

Result<void> read_requests(const Json& configuration, HookState& state)
{
    GPUCTR_TRY(const Variables variables, variables_of(configuration));
    for (const auto& [name, value] : variables)
        state.variables.push_back(base::format("{}={}", name, value));
    for (const drivers::Vendor& vendor : drivers::vendors())
        if (asks_for(vendor, variables))
            state.vendors.emplace_back(vendor.name);
    return {};
}

Result<void> read_configuration(std::string_view text, const std::string& bundle, HookState& state)
{
    GPUCTR_TRY(const Json configuration, parse_document(text));
    GPUCTR_TRY(state.rootfs, root_of(configuration, bundle));
    return read_requests(configuration, state);
}

} // namespace

Result<HookState> read_hook_state(std::string_view text)
{
    GPUCTR_TRY(const Json document, parse_document(text), "the state of the container");
    HookState state;
    GPUCTR_TRY(state.pid, pid_of(document));
    const std::string bundle(text_of(document, "bundle"));
    if (!bundle.starts_with('/'))
        return Error(Errc::usage, "the state of the container names no bundle by an absolute path");
    const std::string path = bundle + "/config.json";
    auto text_of_bundle = base::read_file(path, largest_document);
    if (!text_of_bundle)
        return std::move(text_of_bundle).error().with_code(Errc::usage);
    if (auto read = read_configuration(*text_of_bundle, bundle, state); !read)
        return std::move(read).error().with_code(Errc::usage).context(path);
    return state;
}

Result<HookState> read_hook_config(std::string_view text)
{
    GPUCTR_TRY(const Json configuration, parse_document(text),
               "the configuration of the container");
    HookState state;
    if (const Json* const root = member(&configuration, "root"))
        state.rootfs = text_of(*root, "path");
    GPUCTR_CHECK(read_requests(configuration, state));
    return state;
}

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/cdi_hooks.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/fields.hpp"
#include "cdi/names.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace gpucontainer::drivers::nvidia {
namespace {

using cdi::CacheTask;
using cdi::CompatTask;
using cdi::Hook;
using cdi::HookTask;
using cdi::LinkTask;
using cdi::ModeTask;
using cdi::shown;

constexpr std::size_t most_arguments = 20'000;

Error unfit(const Hook& hook, std::string_view why)
{
    return Error(Errc::usage, base::format("{}: {}", hook.place.text(), why))
        .with_object(hook.place.file)
        .with_hint("write the specification again, or correct this hook");
}

/// The arguments after the name of the hook; none if no hook of nvidia-ctk is called.
std::optional<std::span<const std::string>> after_program(const Hook& hook)
{
    std::span<const std::string> args = hook.args;
    const std::string_view program = base::name_of(hook.path);
    if (args.empty() || (program != "nvidia-cdi-hook" && program != "nvidia-ctk"))
        return std::nullopt;
    args = args.subspan(1); // how the program is called
    const auto drop_flags = [&] {
        constexpr std::array<std::string_view, 4> flags = {"--debug", "-d", "--quiet", "-q"};
        while (!args.empty() && std::ranges::find(flags, args[0]) != flags.end())
            args = args.subspan(1);
    };
    drop_flags();
    if (program == "nvidia-ctk") {
        if (args.empty() || args[0] != "hook")
            return std::nullopt;
        args = args.subspan(1);
        drop_flags();
    }
    return args.empty() ? std::nullopt : std::optional(args);
}

struct HookOption {
    std::string_view name;
    std::function<Result<void>(const std::string& value)> read;
};

/// Options as the hooks take them: "--name value" and "--name=value", with one dash or two.
Result<void> read_options(const Hook& hook, std::span<const std::string> args,
                          const std::vector<HookOption>& options)
{
    for (std::size_t i = 0; i < args.size(); ++i) {
        std::string_view name = args[i];
        if (!name.starts_with('-'))
            return unfit(hook, base::format("argument {} is no option of the hook", shown(name)));
        name.remove_prefix(name.starts_with("--") ? 2 : 1);
        const auto equals = name.find('=');
        const std::string_view key = name.substr(0, equals);
        const auto option = std::ranges::find(options, key, &HookOption::name);
        if (option == options.end())
            return unfit(hook, base::format("unknown option {} of the hook", shown(args[i])));
        if (equals == std::string_view::npos && i + 1 == args.size())
            return unfit(hook, base::format("option {} has no value", shown(args[i])));
        const std::string value(equals != std::string_view::npos ? name.substr(equals + 1)
                                                                 : std::string_view(args[++i]));
        // The hook takes what is between commas for several values.
        if (value.find(',') != std::string::npos)
            return unfit(hook, base::format("{} has a comma, which the hook takes for the end of "
                                            "a value",
                                            shown(value)));
        GPUCTR_CHECK(option->read(value));
    }
    return {};
}

Result<std::string> path_in(const Hook& hook, const std::string& value)
{
    auto path = cdi::plain_path(value);
    if (!path)
        return unfit(hook, base::format("{} is no absolute path without '..'", shown(value)));
    return *std::move(path);
}

using Arguments = std::span<const std::string>;

Result<HookTask> read_links(const Hook& hook, Arguments args)
{
    LinkTask task;
    const auto read = [&](const std::string& value) -> Result<void> {
        constexpr std::string_view between = "::";
        const auto at = value.find(between);
        if (at == std::string::npos || at == 0
            || value.find(between, at + between.size()) != std::string::npos)
            return unfit(hook, base::format("link {} is not TARGET::LINK", shown(value)));
        GPUCTR_TRY(std::string path, path_in(hook, value.substr(at + between.size())));
        if (path == "/")
            return unfit(hook, base::format("link {} is the root directory", shown(value)));
        task.links.push_back({value.substr(0, at), std::move(path)});
        return {};
    };
    GPUCTR_CHECK(read_options(hook, args, {{"link", read}}));
    return HookTask(std::move(task));
}

Result<HookTask> read_cache(const Hook& hook, Arguments args)
{
    CacheTask task;
    const auto read = [&](const std::string& value) -> Result<void> {
        GPUCTR_TRY(std::string path, path_in(hook, value));
        task.directories.push_back(std::move(path));
        return {};
    };
    // Nothing of ours runs ldconfig.
    const auto leave = [](const std::string&) { return Result<void>(); };
    GPUCTR_CHECK(read_options(hook, args, {{"folder", read}, {"ldconfig-path", leave}}));
    return HookTask(std::move(task));
}

bool is_version_of_hook(std::string_view text)
{
    return !text.empty() && text.size() < 32
           && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<HookTask> read_compat(const Hook& hook, Arguments args)
{
    CompatTask task = {"nvidia"};
    task.directory = "/usr/local/cuda/compat";
    const auto version = [&](std::string& into) {
        return [&hook, &into](const std::string& value) -> Result<void> {
            if (!is_version_of_hook(value))
                return unfit(hook, base::format("{} is no version", shown(value)));
            into = value;
            return {};
        };
    };
    const auto directory = [&](const std::string& value) -> Result<void> {
        GPUCTR_TRY(task.directory, path_in(hook, value));
        return {};
    };
    GPUCTR_CHECK(read_options(hook, args,
                              {{"host-driver-version", version(task.driver)},
                               {"host-cuda-version", version(task.toolkit)},
                               {"cuda-compat-container-root", directory}}));
    return HookTask(std::move(task));
}

Result<HookTask> read_mode(const Hook& hook, Arguments args)
{
    constexpr std::uint64_t most = 07777;
    ModeTask task;
    const auto mode = [&](const std::string& value) -> Result<void> {
        std::optional<std::uint64_t> number = 0;
        for (const char c : value)
            number = c >= '0' && c <= '7' && number && *number <= most
                         ? std::optional(*number * 8 + static_cast<std::uint64_t>(c - '0'))
                         : std::nullopt;
        if (value.empty() || !number || *number > most)
            return unfit(hook, base::format("{} is no mode", shown(value)));
        task.mode = static_cast<std::uint32_t>(*number);
        return {};
    };
    const auto path = [&](const std::string& value) -> Result<void> {
        GPUCTR_TRY(std::string plain, path_in(hook, value));
        task.paths.push_back(std::move(plain));
        return {};
    };
    GPUCTR_CHECK(read_options(hook, args, {{"mode", mode}, {"path", path}}));
    return HookTask(std::move(task));
}

Result<HookTask> read_no_nodes(const Hook& hook, Arguments args)
{
    GPUCTR_CHECK(read_options(hook, args, {}));
    return HookTask(cdi::NoNodesTask{"nvidia"});
}

Result<HookTask> read_profile(const Hook& hook, Arguments args)
{
    GPUCTR_CHECK(read_options(hook, args, {}));
    return HookTask(cdi::ProfileTask{"nvidia"});
}

struct KnownHook {
    std::string_view name;
    Result<HookTask> (*read)(const Hook& hook, Arguments args);
};

constexpr std::array known_hooks = {
    KnownHook{"create-symlinks", read_links},
    KnownHook{"update-ldcache", read_cache},
    KnownHook{"enable-cuda-compat", read_compat},
    KnownHook{"disable-device-node-modification", read_no_nodes},
    KnownHook{"update-application-profile", read_profile},
    KnownHook{"chmod", read_mode},
};

} // namespace

Result<std::optional<HookTask>> task_of(const Hook& hook)
{
    const auto args = after_program(hook);
    // At another stage it would do something else.
    if (!args || hook.name != "createContainer")
        return std::optional<HookTask>();
    const auto known = std::ranges::find(known_hooks, (*args)[0], &KnownHook::name);
    if (known == known_hooks.end())
        return std::optional<HookTask>();
    if (args->size() > most_arguments)
        return unfit(hook, "it has too many arguments");
    GPUCTR_TRY(HookTask task, known->read(hook, args->subspan(1)));
    return std::optional(std::move(task));
}

} // namespace gpucontainer::drivers::nvidia

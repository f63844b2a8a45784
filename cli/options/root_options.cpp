// SPDX-License-Identifier: MIT
#include "options/root_options.hpp"

#include "options/groups.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "settings/settings.hpp"

#include <cerrno>
#include <climits>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr int largest_pid = 1 << 22; // PID_MAX_LIMIT of the kernel

} // namespace

void RootOptions::add_to(CLI::App& command)
{
    command.option_defaults()->group(where);
    CLI::Option* const by_path =
        command
            .add_option("--rootfs", path, "root directory of the container, with its /usr and /etc")
            ->type_name("DIR");
    CLI::Option* const by_descriptor = add_number(command, "--rootfs-fd", {0, INT_MAX}, descriptor,
                                                  "the same directory, as an open descriptor")
                                           ->type_name("N");
    CLI::Option* const by_process =
        add_number(command, "--pid", {1, largest_pid}, pid,
                   "a process of a running container, whose root directory is used")
            ->type_name("PID");
    command.add_option("--restricted-rootfs", allowed, "where a restricted --rootfs has to be")
        ->group(policy_group);
    by_descriptor->excludes(by_path);
    by_process->excludes(by_path)->excludes(by_descriptor);
}

void RootOptions::add_all_to(CLI::App& command)
{
    CLI::Option* const every = command.add_flag("--all", all, "every root directory with a set-up");
    for (const char* const one : {"--rootfs", "--rootfs-fd", "--pid"})
        every->excludes(command.get_option(one));
}

void RootOptions::require_or_all(const std::string& command) const
{
    if (!all && !is_given())
        throw usage_error_of(command, "name a root file system with --rootfs DIR, --rootfs-fd N or "
                                      "--pid PID, or every one with --all");
}

RootDirectory RootOptions::open() const
{
    if (descriptor)
        return RootDirectory::from_descriptor(*descriptor);
    if (pid)
        return RootDirectory::of_process(*pid);
    if (path.empty())
        throw gpucontainer::Error(GPUCTR_E_USAGE, "--rootfs is required",
                                  "name the directory that holds the container's /usr and /etc", 0);
    return allowed.empty() ? RootDirectory::at(path) : RootDirectory::below(allowed, path);
}

RootDirectory RootOptions::open_to_read() const
{
    constexpr ImageUse use = ImageUse::looked_at;
    std::optional<ImageFile> image =
        descriptor ? open_image_file(*descriptor, formatted("descriptor {}", *descriptor), use)
                   : open_image(use);
    return image ? RootDirectory::of_image(*std::move(image)) : open();
}

std::optional<ImageFile> RootOptions::open_image(ImageUse use) const
{
    // In a restricted call, the paths lead to directories of an administrator's.
    return path.empty() || !allowed.empty() ? std::nullopt : open_image_file(path, use);
}

std::string state_directory(const std::string& option)
{
    // Root of a user namespace usually may not write the host's /var/lib.
    const bool root = ::geteuid() == 0
                      && (::access("/var/lib", W_OK) == 0 || (errno != EACCES && errno != EROFS));
    if (!option.empty() || root)
        return option;
    // XDG Base Directory Specification
    if (const std::string state = trusted_variable("XDG_STATE_HOME"); state.starts_with('/'))
        return state + "/gpucontainer";
    if (const std::string home = trusted_variable("HOME"); home.starts_with('/'))
        return home + "/.local/state/gpucontainer";
    return option;
}

void add_state_option(CLI::App& command, std::string& option)
{
    command
        .add_option("--state-dir", option,
                    "directory of the journals for undo: /var/lib/gpucontainer for root, else "
                    "below ~/.local/state")
        ->type_name("DIR");
}

} // namespace gpuctr_cli

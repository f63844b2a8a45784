// SPDX-License-Identifier: MIT
#include "root_options.hpp"

#include "container_process.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "restricted_root.hpp"
#include "settings.hpp"
#include "standard_descriptors.hpp"
#include "usage.hpp"
#include "values.hpp"

#include <cerrno>
#include <climits>
#include <fcntl.h>

namespace gpuctr_setup {
namespace {

constexpr int largest_pid = 1 << 22; // PID_MAX_LIMIT of the kernel

const char* directory_hint()
{
    if (errno == EACCES)
        return "this user may not enter it, or a directory above it (mode x); --rootfs-fd takes "
               "one that somebody else opened";
    return "name the directory that holds the container's /usr and /etc with --rootfs";
}

} // namespace

RootDirectory RootDirectory::at(const std::string& path)
{
    Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        fail("root file system " + path, GPUCTR_E_ROOTFS, directory_hint());
    return {path, std::move(directory)};
}

RootDirectory RootDirectory::below(const std::vector<std::string>& directories,
                                   const std::string& path)
{
    return {path, open_restricted_root(directories, path)};
}

RootDirectory RootDirectory::from_descriptor(int fd)
{
    std::string name = formatted("descriptor {}", fd);
    // A descriptor of the caller's own, whatever it was opened for.
    Fd directory(::openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno == EBADF)
        throw gpucontainer::Error(GPUCTR_E_USAGE, name + " is not open",
                                  "open the root directory and leave it inheritable, as in "
                                  "`--rootfs-fd 3 3<DIR`",
                                  EBADF);
    if (!directory)
        fail("root file system, " + name, GPUCTR_E_ROOTFS, directory_hint());
    // A command in the container must not get it: the host's tree is above it.
    keep_from_command(fd);
    return {std::move(name), std::move(directory)};
}

RootDirectory RootDirectory::of_process(int pid)
{
    ContainerProcess process(pid);
    RootDirectory root(formatted("process {}", pid), process.open_root());
    process.enter_user_namespace();
    root.process_ = std::move(process).take_descriptor();
    return root;
}

gpucontainer::ApplyOptions RootDirectory::apply_options(std::string state_directory) const
{
    gpucontainer::ApplyOptions options;
    options.state_dir = std::move(state_directory);
    options.pidfd = process_.get();
    return options;
}

void RootOptions::add_to(CLI::App& command)
{
    CLI::Option* const by_path =
        command.add_option("--rootfs", path, "root file system of the container")->type_name("DIR");
    CLI::Option* const by_descriptor = add_number(command, "--rootfs-fd", {0, INT_MAX}, descriptor,
                                                  "the same as an open descriptor")
                                           ->type_name("N");
    CLI::Option* const by_process =
        add_number(command, "--pid", {1, largest_pid}, pid, "a process of a container that runs")
            ->type_name("PID");
    command.add_option("--restricted-rootfs", allowed, "where a restricted --rootfs has to be")
        ->group(policy_group);
    by_descriptor->excludes(by_path);
    by_process->excludes(by_path)->excludes(by_descriptor);
}

void RootOptions::require_or_all(bool all, const std::string& command) const
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

std::string state_directory(const std::string& option)
{
    // Root of a user namespace may not write the host's, as a rule.
    const bool root = ::geteuid() == 0
                      && (::access("/var/lib", W_OK) == 0 || (errno != EACCES && errno != EROFS));
    if (!option.empty() || root)
        return option;
    // As the XDG base directory rules want it.
    if (const std::string state = trusted_variable("XDG_STATE_HOME"); state.starts_with('/'))
        return state + "/gpucontainer";
    if (const std::string home = trusted_variable("HOME"); home.starts_with('/'))
        return home + "/.local/state/gpucontainer";
    return option;
}

void add_state_option(CLI::App& command, std::string& option)
{
    command.add_option("--state-dir", option, "where the journal for undo is kept")
        ->type_name("DIR");
}

} // namespace gpuctr_setup

// SPDX-License-Identifier: MIT
#include "runtime/run.hpp"

#include "output/exit_code.hpp"
#include "output/failure.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "runtime/container.hpp"
#include "runtime/environment.hpp"
#include "runtime/image_root.hpp"
#include "runtime/program.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <sys/statvfs.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr std::uint32_t phases = GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT;

void put_gpus_into(const Container& container, const Gpus& gpus, std::uint32_t write,
                   Environment& environment, const Messages& messages)
{
    const gpucontainer::Plan plan = gpus.plan(container.fd(), write);
    warn_about(plan.findings(), messages);
    gpucontainer::ApplyOptions how = gpus.how;
    how.without_journal = true;
    how.over_copies = true;
    (void)plan.apply(container.fd(), how);
    for (const auto variable : plan.variables())
        environment.change(variable);
}

/// What an image file of Apptainer's would have its scripts set, and APPTAINERENV_NAME of the
/// caller. The scripts are read, and not executed.
void take_environment_of_image(const Container& container, Environment& environment,
                               const Messages& messages)
{
    const gpucontainer::ContainerEnvironment read(container.fd(), nullptr, environ);
    std::vector<std::string> assignments;
    for (const std::string_view variable : read.variables())
        assignments.emplace_back(variable);
    environment.assign(assignments);
    if (messages.verbosity == Verbosity::verbose)
        for (const gpucontainer::Finding finding : read.findings())
            messages.tell(formatted("{}: {}", finding.object(), finding.text()));
}

void tell_left_out(const Environment& environment, const Messages& messages)
{
    if (messages.verbosity == Verbosity::verbose && !environment.left_out().empty())
        messages.tell(formatted("left out of the environment, because of paths of this host: {}",
                                fmt::join(environment.left_out(), ", ")));
}

/// Closes the descriptors that are close-on-exec before CMD is looked up. Otherwise a link of the
/// image could lead through them to the host's files. `own` is /proc/self/fd.
void close_own_descriptors(Fd own)
{
    std::vector<int> descriptors;
    DIR* const directory = ::fdopendir(own.get());
    if (directory == nullptr)
        fail("list the descriptors of this process", GPUCTR_E_INTERNAL);
    (void)own.release();
    while (const dirent* const entry = ::readdir(directory))
        descriptors.push_back(std::atoi(entry->d_name)); // NOLINT(cert-err34-c): the kernel's
    (void)::closedir(directory);
    for (const int fd : descriptors)
        if (const int flags = ::fcntl(fd, F_GETFD);
            fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) != 0)
            (void)::close(fd);
}

/// A name without a slash is searched for in PATH, usually on the mount of the root directory.
bool is_on_noexec(const std::string& command)
{
    const bool is_path = command.find('/') != std::string::npos;
    struct statvfs status = {};
    return ::statvfs(is_path ? command.c_str() : "/", &status) == 0
           && (status.f_flag & ST_NOEXEC) != 0;
}

const char* hint_for(int error, const std::string& command)
{
    if (error == ELOOP)
        return "a program is not executed through magic links, such as /proc/self/exe and "
               "/proc/self/fd/0, which lead out of the container";
    if (error == EACCES && is_on_noexec(command))
        return "the mount that it is on allows no programs (noexec); mount options of the host "
               "also apply in the container";
    return "";
}

/// Executes the command. Returns only on failure, with the exit code.
int execute(const std::vector<std::string>& command_line, const Environment& environment,
            const std::string& directory, const Messages& messages)
{
    std::vector<std::string> assignments = environment.assignments();
    std::vector<char*> variables;
    variables.reserve(assignments.size() + 1);
    for (std::string& assignment : assignments)
        variables.push_back(assignment.data());
    variables.push_back(nullptr);

    messages.print_held(); // CMD is what prints from then on
    restore_output_signals();
    execute_program(command_line, variables.data(), directory);
    const int error = errno;
    ignore_output_signals();
    const std::string& command = command_line.front();
    messages.report({GPUCTR_E_USAGE, formatted("{}: {}", command, ::strerrordesc_np(error)),
                     hint_for(error, command), error, command});
    return error == ENOENT || error == ENOTDIR ? ExitCode::not_found : ExitCode::not_executable;
}

} // namespace

void check(const RunOptions& options)
{
    for (const std::string& bind : options.binds)
        (void)parse_bind(bind);
    Environment(options.clean_environment).assign(options.variables);
}

namespace {

/// The working directory follows into the new mount namespace; a descriptor would stay on the old
/// mounts.
void enter_directory(const Root& root)
{
    if (::fchdir(root.fd) != 0)
        fail("root file system " + root.name, GPUCTR_E_ROOTFS,
             "this user may not enter it (mode x)", "rootfs");
}

} // namespace

void prepare_to_run() { shrink_privileges_until_exec(phases); }

int run(const Root& root, const std::optional<Gpus>& gpus, const RunOptions& options,
        const std::vector<std::string>& command_line, const Messages& messages)
{
    Fd descriptors(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::optional<ImageRoot> image;
    if (root.image != nullptr)
        image.emplace(*root.image, options.writable);
    else
        enter_directory(root);
    enter_private_namespaces();
    forbid_new_privileges(phases, options.allow_setuid);
    Container container =
        image ? Container(root.name, *image, {options.allow_setuid, options.mount_label},
                          options.writable)
              : Container(root.name);
    container.mount_kernel_file_systems();
    container.mount_devices(options.mount_label);

    Environment environment(options.clean_environment);
    tell_left_out(environment, messages);
    if (image)
        take_environment_of_image(container, environment, messages);
    const std::uint32_t write = options.writable ? GPUCTR_WRITE_AUTO : GPUCTR_WRITE_NEVER;
    if (gpus)
        with_gpu(gpus->if_present, messages,
                 [&] { put_gpus_into(container, *gpus, write, environment, messages); });
    container.share_directories();
    // After the driver, so that what was asked for by name is on top.
    for (const std::string& bind : options.binds)
        container.bind(bind);
    environment.assign(options.variables);
    container.enter(options.directory);
    close_own_descriptors(std::move(descriptors));
    return execute(command_line, environment, options.directory.empty() ? "/" : options.directory,
                   messages);
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "replay.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/try.hpp"
#include "confine.hpp"
#include "messages.hpp"
#include "mounts.hpp"
#include "syscall/id_map.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sched.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::simhost {
namespace {

constexpr int signal_status = 128;
constexpr std::array handed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr const char* nodes_place = "/media";

bool has_replay_ids(const char* map)
{
    const auto text = base::read_file(map);
    const auto range = text ? syscall::find_range(*text, first_replay_id) : std::nullopt;
    return range && range->inside + std::uint64_t{range->count} > first_replay_id + UINT16_MAX;
}

Result<Caller> find_caller(bool map_root)
{
    Caller caller{::geteuid() == 0, ::geteuid(), ::getegid()};
    if (caller.is_root
        && (!has_replay_ids("/proc/self/uid_map") || !has_replay_ids("/proc/self/gid_map")))
        return Error(Errc::requirement,
                     base::format("root of a user namespace without the ids from {} on cannot run "
                                  "a stranger's host; call it as an ordinary user",
                                  first_replay_id));
    if (map_root)
        caller.uid = caller.gid = 0;
    return caller;
}

sigset_t watched_signals()
{
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGCHLD);
    for (const int signal : handed_on)
        ::sigaddset(&signals, signal);
    return signals;
}

/// Waits for a child to end, and hands signals on to it. Other children are of those that left
/// them.
int wait_for(pid_t child)
{
    const sigset_t signals = watched_signals();
    for (;;) {
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) != 0;) {
            if (ended == child || (ended < 0 && errno == ECHILD))
                return WIFEXITED(status) ? WEXITSTATUS(status) : signal_status + WTERMSIG(status);
        }
        const int signal = ::sigwaitinfo(&signals, nullptr);
        if (signal > 0 && signal != SIGCHLD)
            (void)::kill(child, signal);
    }
}

/// Stands the host up in a world of its own, and gives up what that took.
Result<void> enter_host(const Recording& host, const ReplayOptions& options, const Caller& caller,
                        IdGiver& giver, std::vector<std::string>& environment)
{
    std::array<char, PATH_MAX> directory = {};
    if (::getcwd(directory.data(), directory.size()) == nullptr)
        directory[0] = '/';
    if (!caller.is_root)
        GPUCTR_CHECK(map_identity(::getuid(), ::getgid(), caller.uid == 0));
    GPUCTR_CHECK(make_mounts_private());
    World world(caller.is_root ? first_replay_id : 0);
    GPUCTR_CHECK(world.enter(options.shown));
    StandUpOptions stand_up_options = options.stand_up;
    stand_up_options.first_id = caller.is_root ? first_replay_id : 0;
    stand_up_options.in_world = true;
    if (!stand_up_options.nodes_directory.empty()) {
        GPUCTR_CHECK(world.mount_at(stand_up_options.nodes_directory, nodes_place), "--nodes");
        stand_up_options.nodes_directory = nodes_place;
    }
    GPUCTR_TRY(auto stood_up, stand_up_here(host, stand_up_options));
    if (!stand_up_options.nodes_directory.empty())
        GPUCTR_CHECK(detach_mount(nodes_place));
    GPUCTR_CHECK(world.complete());
    if (stood_up.needs_environment)
        environment.emplace_back(sysfs_variable);
    GPUCTR_TRY(const bool can_mount, confine(caller, giver));
    if (!can_mount)
        stood_up.left_out.emplace_back(
            "mounts of the command (this machine allows no user namespaces)");
    if (!options.quiet) {
        say_left_out(options.left_out);
        say_left_out(stood_up.left_out);
    }
    if (::chdir(directory.data()) != 0 && ::chdir("/") != 0)
        return Error::from_errno(errno, "enter /");
    return {};
}

[[noreturn]] void execute(const ReplayOptions& options, std::vector<std::string> environment,
                          char** command)
{
    std::vector<char*> variables;
    variables.reserve(environment.size() + 1);
    for (std::string& variable : environment)
        variables.push_back(variable.data());
    variables.push_back(nullptr);
    const std::string& program = options.program;
    if (program.empty())
        ::execvpe(command[0], command, variables.data());
    else
        ::execve(program.c_str(), command, variables.data());
    ::_exit(say_not_executed(command[0]));
}

/// The first process of the namespace of processes: all others end with it.
int run_init(const Recording& host, const ReplayOptions& options, const Caller& caller,
             IdGiver& giver, char** command)
{
    std::vector<std::string> environment = plain_environment();
    if (const auto entered = enter_host(host, options, caller, giver, environment); !entered) {
        say(entered.error().message());
        return exit_own_failure;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const sigset_t signals = watched_signals();
        ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
        execute(options, std::move(environment), command);
    }
    return child < 0 ? exit_own_failure : wait_for(child);
}

} // namespace

Result<int> replay(const Recording& host, const ReplayOptions& options, char** command)
{
    GPUCTR_TRY(const Caller caller, find_caller(options.stand_up.map_root));
    GPUCTR_TRY(IdGiver giver, IdGiver::make());
    const sigset_t signals = watched_signals();
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    const unsigned long flags =
        CLONE_NEWPID | CLONE_NEWNS
        | (caller.is_root ? 0UL : static_cast<unsigned long>(CLONE_NEWUSER));
    const auto child = static_cast<pid_t>(
        ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child < 0)
        return Error::from_errno(errno, "make namespaces", Errc::permission);
    if (child == 0)
        ::_exit(run_init(host, options, caller, giver, command));
    giver.give_to(child);
    return wait_for(child);
}

} // namespace gpucontainer::simhost

// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "base/try.hpp"
#include "recording.hpp"
#include "stand_up.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <getopt.h>
#include <string_view>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

constexpr int exit_own_failure = 125;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

constexpr std::string_view usage =
    R"(usage: gpuctr-simhost [OPTION]... HOST -- COMMAND [ARGUMENT]...

Runs COMMAND on the recorded host HOST, in namespaces of its own. HOST is a
folder, or a file that `gpuctr-setup report` wrote.

  --map-root          be root in a user namespace
  --no-devices        leave the recorded device nodes out of /dev
  --nodes DIR         take device nodes from DIR where it has them
  --sysfs METHOD      auto, carriers or plain
  -q                  do not say what was left out
  --help              print this text

Exit status: that of COMMAND; 127 when it is not found, 126 when it cannot be
executed, 125 when the host cannot be stood up.
)";

/// Whether anybody can hear it changes nothing.
void say(std::string what)
{
    // Names of a stranger's archive would have their way with a terminal.
    std::ranges::replace_if(what, base::is_control, '?');
    (void)std::fputs(("gpuctr-simhost: " + what + "\n").c_str(), stderr);
}

struct CommandLine {
    StandUpOptions options;
    std::string host;
    char** command = nullptr;
    bool quiet = false;
    bool help = false;
};

Result<SysfsMethod> to_method(std::string_view text)
{
    if (text == "auto")
        return SysfsMethod::automatic;
    if (text == "carriers" || text == "carrier")
        return SysfsMethod::carriers;
    if (text == "plain")
        return SysfsMethod::plain;
    return Error(Errc::usage, base::format("--sysfs is none of auto, carriers, plain: '{}'", text));
}

Result<std::string> real_path(const char* path)
{
    std::string real(PATH_MAX, '\0');
    if (::realpath(path, real.data()) == nullptr)
        return Error::from_errno(errno, path);
    real.resize(real.find('\0'));
    return real;
}

Result<void> take_option(int option, CommandLine& line)
{
    switch (option) {
    case 'd':
        line.options.devices = false;
        return {};
    case 'h':
        line.help = true;
        return {};
    case 'q':
        line.quiet = true;
        return {};
    case 'r':
        line.options.map_root = true;
        return {};
    case 'n': {
        GPUCTR_TRY(line.options.nodes_directory, real_path(::optarg), "--nodes");
        return {};
    }
    case 's': {
        GPUCTR_TRY(line.options.sysfs, to_method(::optarg));
        return {};
    }
    default:
        return Error(Errc::usage, "unknown or incomplete option; see --help");
    }
}

Result<CommandLine> parse(int argc, char** argv)
{
    constexpr std::array options = {
        option{"help", no_argument, nullptr, 'h'},
        option{"map-root", no_argument, nullptr, 'r'},
        option{"no-devices", no_argument, nullptr, 'd'},
        option{"nodes", required_argument, nullptr, 'n'},
        option{"sysfs", required_argument, nullptr, 's'},
        option{nullptr, 0, nullptr, 0},
    };
    CommandLine line;
    ::opterr = 0;
    // '+': the first word that is no option ends them
    for (int found = 0; (found = ::getopt_long(argc, argv, "+q", options.data(), nullptr)) != -1;)
        GPUCTR_CHECK(take_option(found, line));
    if (line.help)
        return line;
    int next = ::optind;
    if (next >= argc)
        return Error(Errc::usage, "no HOST; see --help");
    GPUCTR_TRY(line.host, real_path(argv[next++]));
    if (next < argc && std::string_view(argv[next]) == "--")
        ++next;
    if (next >= argc)
        return Error(Errc::usage, "no COMMAND; see --help");
    line.command = argv + next;
    return line;
}

Result<void> enter_host(const CommandLine& line)
{
    std::string directory(PATH_MAX, '\0');
    if (::getcwd(directory.data(), directory.size()) == nullptr)
        directory = "/";
    std::vector<std::string> left_out;
    GPUCTR_TRY(const auto host, read_recording(line.host, left_out));
    GPUCTR_TRY(const auto result, stand_up(host, line.options));
    left_out.insert(left_out.end(), result.left_out.begin(), result.left_out.end());
    if (!line.quiet)
        for (const std::string& what : left_out)
            say("left out: " + what);
    if (result.needs_environment)
        ::setenv("SYSTEMD_DEVICE_VERIFY_SYSFS", "0", 1);
    if (::chdir(directory.c_str()) != 0) // from below what is mounted over by now
        return Error::from_errno(errno, base::format("return to {}", directory.c_str()));
    return {};
}

int run(int argc, char** argv)
{
    const auto line = parse(argc, argv);
    if (line && line->help) {
        (void)std::fwrite(usage.data(), 1, usage.size(), stdout);
        return 0;
    }
    const auto entered = line ? enter_host(*line) : Result<void>();
    if (!line || !entered) {
        say(line ? entered.error().message() : line.error().message());
        return exit_own_failure;
    }
    ::execvp(line->command[0], line->command);
    const Error error = Error::from_errno(errno, line->command[0]);
    say(error.message());
    return error.os_error() == ENOENT ? exit_not_found : exit_not_executable;
}

} // namespace
} // namespace gpucontainer::simhost

int main(int argc, char** argv)
try {
    return gpucontainer::simhost::run(argc, argv);
} catch (const std::exception& exception) {
    gpucontainer::simhost::say(exception.what());
    return gpucontainer::simhost::exit_own_failure;
}

// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "base/try.hpp"
#include "messages.hpp"
#include "recording.hpp"
#include "replay.hpp"
#include "stand_up.hpp"
#include "world.hpp"

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

constexpr std::string_view usage =
    R"(usage: gpuctr-simhost [OPTION]... HOST -- COMMAND [ARGUMENT]...

Runs COMMAND on the recorded host HOST, in namespaces of its own. HOST is a
folder, or a file that `gpuctr-setup report` wrote.

Whoever wrote HOST gets no privilege by that: COMMAND sees the programs and
libraries of this machine, read-only, and is nobody there.

  --show DIR          show DIR of this machine too, read-only
  --work DIR          the same, and COMMAND may write there
  --trusted           whoever wrote HOST can do all that you can; COMMAND sees
                      the whole machine
  --map-root          be root in a user namespace
  --no-devices        leave the recorded device nodes out of /dev
  --nodes DIR         take device nodes from DIR where it has them
  --sysfs METHOD      auto, carriers or plain
  -q                  do not say what was left out
  --help              print this text

Exit status: that of COMMAND; 127 when it is not found, 126 when it cannot be
executed, 125 when the host cannot be stood up.
)";

struct CommandLine {
    ReplayOptions replay;
    std::string host;
    char** command = nullptr;
    Author author = Author::stranger;
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

/// Adds what the command is to see of this machine.
Result<void> show(const char* path, bool writable, CommandLine& line)
{
    Shown shown;
    shown.writable = writable;
    GPUCTR_TRY(shown.path, real_path(path), "{}", writable ? "--work" : "--show");
    const Place place = place_of(shown.path);
    if (place == Place::kernel)
        return Error(Errc::usage, base::format("{} cannot be shown", shown.path));
    if (writable || place == Place::outside)
        line.replay.shown.push_back(std::move(shown));
    return {};
}

Result<void> take_option(int option, CommandLine& line)
{
    switch (option) {
    case 'd':
        line.replay.stand_up.devices = false;
        return {};
    case 'h':
        line.help = true;
        return {};
    case 'q':
        line.replay.quiet = true;
        return {};
    case 'r':
        line.replay.stand_up.map_root = true;
        return {};
    case 't':
        line.author = Author::trusted;
        return {};
    case 'S':
        return show(::optarg, false, line);
    case 'W':
        return show(::optarg, true, line);
    case 'n': {
        GPUCTR_TRY(line.replay.stand_up.nodes_directory, real_path(::optarg), "--nodes");
        return {};
    }
    case 's': {
        GPUCTR_TRY(line.replay.stand_up.sysfs, to_method(::optarg));
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
        option{"show", required_argument, nullptr, 'S'},
        option{"trusted", no_argument, nullptr, 't'},
        option{"work", required_argument, nullptr, 'W'},
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

Result<void> enter_host(const Recording& host, const CommandLine& line)
{
    std::string directory(PATH_MAX, '\0');
    if (::getcwd(directory.data(), directory.size()) == nullptr)
        directory = "/";
    GPUCTR_TRY(const auto result, stand_up(host, line.replay.stand_up));
    if (!line.replay.quiet)
        say_left_out(result.left_out);
    if (result.needs_environment)
        ::putenv(sysfs_variable.data());
    if (::chdir(directory.c_str()) != 0) // from below what is mounted over by now
        return Error::from_errno(errno, base::format("return to {}", directory.c_str()));
    return {};
}

/// The first of that name in the PATH; empty if there is none.
std::string find_in_path(const std::string& name)
{
    const char* const variable = ::getenv("PATH");
    const std::string path = variable == nullptr ? "" : variable;
    for (const std::string_view directory : base::split(path, ':')) {
        std::string program = base::format("{}/{}", directory.empty() ? "." : directory, name);
        if (::access(program.c_str(), X_OK) == 0)
            return program;
    }
    return {};
}

/// The command sees its own program, wherever that lies.
void show_program(CommandLine& line)
{
    const std::string name = line.command[0];
    const bool is_path = name.find('/') != std::string::npos;
    const auto program = real_path((is_path ? name : find_in_path(name)).c_str());
    if (!program || place_of(*program) == Place::kernel)
        return;
    const bool is_outside = place_of(*program) == Place::outside;
    if (is_outside)
        line.replay.shown.push_back({*program});
    if (is_outside || is_path)
        line.replay.program = *program;
}

Result<int> run_stranger(const Recording& host, CommandLine& line)
{
    show_program(line);
    if (const auto& nodes = line.replay.stand_up.nodes_directory; !nodes.empty())
        line.replay.shown.push_back({nodes, true, true});
    return replay(host, line.replay, line.command);
}

Result<int> run_command(CommandLine& line)
{
    std::vector<std::string>& left_out = line.replay.left_out;
    GPUCTR_TRY(const auto host, read_recording(line.host, line.author, left_out));
    if (line.author == Author::stranger)
        return run_stranger(host, line);
    GPUCTR_CHECK(enter_host(host, line));
    ::execvp(line.command[0], line.command);
    return say_not_executed(line.command[0]);
}

int run(int argc, char** argv)
{
    auto line = parse(argc, argv);
    if (!line) {
        say(line.error().message());
        return exit_own_failure;
    }
    if (line->help) {
        (void)std::fwrite(usage.data(), 1, usage.size(), stdout);
        return 0;
    }
    const auto status = run_command(*line);
    if (!status)
        say(status.error().message());
    return status ? *status : exit_own_failure;
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

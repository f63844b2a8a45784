// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/text.hpp"
#include "support/temp_root.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gmock/gmock.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr uid_t ordinary_user = 65534;
constexpr const char* host = GPUCTR_TEST_SOURCE_DIR "/hosts/h200-x8-ubuntu24.04-580";
constexpr const char* driver_library = "/usr/local/nvidia/lib64/libcuda.so.580.159.04";

enum class Caller { root, ordinary };

struct Outcome {
    int status = -1; ///< Exit status, or 128 and the signal.
    pid_t pid = 0;
    std::string output; ///< Standard output and error.
};

void become(Caller caller)
{
    if (caller == Caller::root || ::geteuid() != 0)
        return;
    if (::setgroups(0, nullptr) != 0 || ::setgid(ordinary_user) != 0
        || ::setuid(ordinary_user) != 0)
        ::_exit(99);
}

/// Runs `body` in a child process of that user, with its output in a pipe.
Outcome in_child(Caller caller, const std::function<int()>& body)
{
    std::array<int, 2> ends = {};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    base::UniqueFd reader(ends[0]);
    base::UniqueFd writer(ends[1]);
    Outcome outcome;
    outcome.pid = ::fork();
    if (outcome.pid == 0) {
        become(caller);
        ::dup2(writer.get(), STDOUT_FILENO);
        ::dup2(writer.get(), STDERR_FILENO);
        ::_exit(body());
    }
    writer.reset();
    std::array<char, 4096> part = {};
    for (ssize_t got = 0; (got = ::read(reader.get(), part.data(), part.size())) > 0;)
        outcome.output.append(part.data(), static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(outcome.pid, &status, 0);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

Outcome run(Caller caller, std::vector<std::string> words)
{
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    return in_child(caller, [&] {
        ::execvp(argv.front(), argv.data());
        return 98;
    });
}

/// Runs a command on the recorded host.
Outcome on_host(Caller caller, std::vector<std::string> command)
{
    std::vector<std::string> words = {GPUCTR_SIMHOST, "-q", "--trusted", host, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return run(caller, std::move(words));
}

/// Whether the kernel lets that user have a mount namespace, and mount there.
bool can_mount(Caller caller)
{
    return in_child(
               caller,
               [&] {
                   const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
                   return ::unshare(flags) == 0
                                  && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr)
                                         == 0
                                  && ::mount("none", "/mnt", "tmpfs", 0, nullptr) == 0
                              ? 0
                              : 1;
               })
               .status
           == 0;
}

class SimhostTest : public testing::TestWithParam<Caller> {
protected:
    void SetUp() override
    {
        const char* ci = ::getenv("CI");
        if (!can_mount(GetParam()) && (ci == nullptr || std::string_view(ci) != "true"))
            GTEST_SKIP() << "this user cannot mount in a namespace of its own here";
    }
};

constexpr const char* all_gpus = "0000:00:06.0 nvidia 0x030200 -1\n"
                                 "0000:00:07.0 nvidia 0x030200 -1\n"
                                 "0000:00:08.0 nvidia 0x030200 -1\n"
                                 "0000:00:09.0 nvidia 0x030200 -1\n"
                                 "0000:00:0a.0 nvidia 0x030200 -1\n"
                                 "0000:00:0b.0 nvidia 0x030200 -1\n"
                                 "0000:00:0c.0 nvidia 0x030200 -1\n"
                                 "0000:00:0d.0 nvidia 0x030200 -1\n";

TEST_P(SimhostTest, ShowsItsGpusToLibudev)
{
    const Outcome found = on_host(GetParam(), {GPUCTR_SIMHOST_PROBE});

    EXPECT_EQ(found.output, all_gpus);
    EXPECT_EQ(found.status, 0);
}

TEST_P(SimhostTest, ShowsItsGpusFromPlainFilesToo)
{
    const Outcome found = run(GetParam(), {GPUCTR_SIMHOST, "-q", "--trusted", "--sysfs", "plain",
                                           host, "--", GPUCTR_SIMHOST_PROBE});

    EXPECT_EQ(found.output, all_gpus);
}

TEST_P(SimhostTest, ShowsHundredsOfDevicesToLibudev)
{
    for (const auto* method : {"auto", "plain"}) {
        const Outcome found = run(GetParam(), {GPUCTR_SIMHOST, "-q", "--trusted", "--sysfs", method,
                                               GPUCTR_GENERATED_HOST, "--", GPUCTR_SIMHOST_PROBE});

        const auto lines = base::split(base::trim(found.output), '\n');
        EXPECT_EQ(lines.size(), 600U);
        EXPECT_THAT(lines, Contains("0000:0f:00.0 nvidia 0x030200 0"));
        EXPECT_THAT(lines, Contains("0000:88:00.0 nvidia 0x030200 1"));
        EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                                [](auto line) { return line.find("nvidia") != line.npos; }),
                  16);
    }
}

TEST_P(SimhostTest, LinksDevicesAndDrivers)
{
    const Outcome found = on_host(
        GetParam(), {"sh", "-c",
                     "cd /sys/bus/pci/drivers/nvidia && echo 0* && cat 0000:00:0d.0/vendor "
                     "module/version && cd /sys/bus/pci/devices && echo * && readlink */driver"});

    EXPECT_THAT(found.output, HasSubstr("0000:00:0c.0 0000:00:0d.0\n0x10de\n580.159.04\n"));
    EXPECT_THAT(found.output, testing::Not(HasSubstr("0000:00:00.0")));
    EXPECT_THAT(found.output, HasSubstr("../../../bus/pci/drivers/nvidia\n"));
}

TEST_P(SimhostTest, ShowsProcfs)
{
    const Outcome found =
        on_host(GetParam(), {"cat", "/proc/driver/nvidia/version", "/proc/devices",
                             "/proc/driver/nvidia/gpus/0000:00:06.0/information"});

    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr("  580.159.04  Release Build"));
    EXPECT_THAT(found.output, HasSubstr("195 nvidiactl"));
    EXPECT_THAT(found.output, HasSubstr("GPU-bc827fa3-8239-9aa5-d1ff-cd2c2f85b066"));
}

TEST_P(SimhostTest, LoadsDriverLibraries)
{
    for (const auto* name : {driver_library, "libcuda.so.1", "libnvidia-ml.so.1"}) {
        const Outcome loaded = on_host(GetParam(), {GPUCTR_SIMHOST_PROBE, name});
        EXPECT_EQ(loaded.status, 0) << loaded.output;
    }
}

TEST_P(SimhostTest, RunsDriverTools) { EXPECT_EQ(on_host(GetParam(), {"nvidia-smi"}).status, 0); }

TEST_P(SimhostTest, KeepsTheMachinesProgramsRunning)
{
    const Outcome ran =
        on_host(GetParam(), {"bash", "-c",
                             "ls /usr/bin > /dev/null && python3 -c 'import ctypes, ssl' && "
                             "cmake --version > /dev/null && ls /sys/fs/cgroup > /dev/null && "
                             "echo x > /dev/null && ldd " GPUCTR_SIMHOST_PROBE});

    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_THAT(ran.output, testing::Not(HasSubstr("not found")));
}

TEST_P(SimhostTest, RecordsOnlyItsOwnLoaderConfiguration)
{
    const Outcome listed = on_host(GetParam(), {"ls", "/etc/ld.so.conf.d"});

    EXPECT_EQ(listed.output, "000_cuda.conf\n987_cuda-13.conf\ngds-13-0.conf\nlibc.conf\n"
                             "nvidia-driver-folders.conf\nnvidia.conf\nx86_64-linux-gnu.conf\n");
}

TEST_P(SimhostTest, HandsOnWhatTheCommandDoes)
{
    const Outcome exited = on_host(GetParam(), {"sh", "-c", "echo $$; exit 42"});

    EXPECT_EQ(exited.status, 42);
    EXPECT_EQ(exited.output, std::to_string(exited.pid) + "\n");
    EXPECT_EQ(on_host(GetParam(), {"sh", "-c", "kill -9 $$"}).status, 128 + SIGKILL);
    EXPECT_EQ(on_host(GetParam(), {"/no/such/command"}).status, 127);
    EXPECT_EQ(on_host(GetParam(), {"/etc/passwd"}).status, 126);
}

TEST_P(SimhostTest, ReportsItsOwnFailureInOneLine)
{
    const Outcome failed = run(GetParam(), {GPUCTR_SIMHOST, "/proc", "--", "true"});

    EXPECT_EQ(failed.status, 125);
    EXPECT_EQ(failed.output, "gpuctr-simhost: /proc: files.tsv: No such file or directory\n");
}

/// Others mount and make nodes on this machine meanwhile: what a simulated host alone
/// could leave.
std::vector<std::string> mounts_of_hosts()
{
    std::vector<std::string> lines;
    const auto table = base::read_file("/proc/self/mountinfo", std::size_t{64} << 20U);
    const std::string text = table ? *table : "unreadable";
    for (const std::string_view line : base::split(text, '\n'))
        if (!table || line.find("gpuctr-simhost") != std::string_view::npos)
            lines.emplace_back(line);
    return lines;
}

std::vector<std::string> recorded_nodes()
{
    std::vector<std::string> names = *base::list_directory(AT_FDCWD, "/dev");
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("nvidia"); });
    return names;
}

TEST_P(SimhostTest, ChangesNothingOutside)
{
    const auto mounts = mounts_of_hosts();
    const auto nodes = recorded_nodes();
    const auto addresses = base::list_directory(AT_FDCWD, "/sys/bus/pci/devices");

    const Outcome ran = on_host(GetParam(), {"true"});

    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_EQ(mounts_of_hosts(), mounts);
    EXPECT_EQ(recorded_nodes(), nodes);
    EXPECT_EQ(*base::list_directory(AT_FDCWD, "/sys/bus/pci/devices"), *addresses);
    EXPECT_NE(::access(driver_library, F_OK), 0) << "on a machine with this very driver";
}

TEST_P(SimhostTest, BuildsARootFileSystem)
{
    test::TempRoot root;
    ASSERT_EQ(::chmod(root.at("").c_str(), 0777), 0);
    const std::string directory = root.at("rootfs").string();

    const Outcome built = on_host(GetParam(), {GPUCTR_TEST_SOURCE_DIR "/support/make-rootfs",
                                               directory, GPUCTR_SIMHOST_PROBE});

    EXPECT_EQ(built.status, 0);
    EXPECT_EQ(built.output, "");
    EXPECT_EQ(::access((directory + "/bin/simhost_probe").c_str(), X_OK), 0);
    EXPECT_EQ(::access((directory + "/etc/ld.so.cache").c_str(), R_OK), 0);
    EXPECT_EQ(run(GetParam(), {"find", directory, "-name", "*nvidia*"}).output, "");
}

/// What only root can do, and what only others cannot.
class SimhostRootTest : public SimhostTest {};
class SimhostUserTest : public SimhostTest {};

TEST_P(SimhostRootTest, MakesDeviceNodes)
{
    const Outcome listed =
        on_host(GetParam(), {"stat", "-c", "%n %t:%T %a", "/dev/nvidia0", "/dev/nvidiactl",
                             "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap1"});

    EXPECT_EQ(listed.output, "/dev/nvidia0 c3:0 666\n/dev/nvidiactl c3:ff 666\n"
                             "/dev/nvidia-uvm ee:0 666\n/dev/nvidia-caps/nvidia-cap1 f1:1 400\n");
}

TEST_P(SimhostUserTest, SaysThatDeviceNodesAreLeftOut)
{
    const Outcome listed =
        run(GetParam(), {GPUCTR_SIMHOST, "--trusted", host, "--", "ls", "/dev/nvidia0"});

    EXPECT_THAT(listed.output, HasSubstr("gpuctr-simhost: left out: device nodes ("));
    EXPECT_THAT(listed.output, HasSubstr("cannot access '/dev/nvidia0'"));
}

TEST_P(SimhostRootTest, LaysFilesForOthersAroundMountsBelowEtc)
{
    const std::string script = "mount --bind /etc/hostname /etc/passwd && exec setpriv "
                               "--reuid 65534 --regid 65534 --clear-groups " GPUCTR_SIMHOST
                               " -q --trusted \"$0\" sh -c '" GPUCTR_SIMHOST_PROBE
                               " libcuda.so.1 && cmp /etc/hostname /etc/passwd'";

    const Outcome loaded = run(GetParam(), {"unshare", "-m", "sh", "-c", script, host});

    EXPECT_EQ(loaded.status, 0) << loaded.output;
}

TEST_P(SimhostRootTest, LeaksNoMountIntoASharedNamespace)
{
    const std::string script =
        "before=$(cat /proc/self/mountinfo) && " GPUCTR_SIMHOST
        " --trusted \"$0\" true && [ \"$before\" = \"$(cat /proc/self/mountinfo)\" ]";

    const Outcome compared =
        run(GetParam(), {"unshare", "-m", "--propagation", "shared", "sh", "-c", script, host});

    EXPECT_EQ(compared.status, 0) << compared.output;
}

TEST_P(SimhostRootTest, RunsBelowChroot)
{
    const std::string script =
        "mount -t tmpfs none /mnt && mkdir /mnt/root && cd /mnt/root && for each in /*; do "
        "if [ -L $each ]; then cp -P $each .; elif [ -d $each ] && [ $each != /mnt ]; then "
        "mkdir .$each && mount --rbind $each .$each || exit; fi; done && exec chroot . \"$@\"";
    for (const auto* author : {"--trusted", "--show=" GPUCTR_SIMHOST_PROBE}) {
        const Outcome found =
            run(GetParam(), {"unshare", "-m", "sh", "-c", script, "sh", GPUCTR_SIMHOST, "-q",
                             author, host, "--", "unshare", "--user", GPUCTR_SIMHOST_PROBE});
        EXPECT_EQ(found.output, all_gpus) << author;
    }
}

std::vector<Caller> roots()
{
    return ::geteuid() == 0 ? std::vector{Caller::root} : std::vector<Caller>{};
}

std::vector<Caller> callers()
{
    std::vector<Caller> all = roots();
    all.push_back(Caller::ordinary);
    return all;
}

std::string name_of(const testing::TestParamInfo<Caller>& caller)
{
    return caller.param == Caller::root ? "Root" : "OrdinaryUser";
}

INSTANTIATE_TEST_SUITE_P(Callers, SimhostTest, testing::ValuesIn(callers()), name_of);
INSTANTIATE_TEST_SUITE_P(Callers, SimhostRootTest, testing::ValuesIn(roots()), name_of);
INSTANTIATE_TEST_SUITE_P(Callers, SimhostUserTest, testing::Values(Caller::ordinary), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimhostRootTest);

} // namespace
} // namespace gpucontainer::simhost

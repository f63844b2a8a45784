// SPDX-License-Identifier: MIT
#include "support/control_group.hpp"

#include "base/file.hpp"
#include "base/text.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer::test {
namespace {

std::string hierarchy(ControlGroup::Version version)
{
    const bool unified = version == ControlGroup::Version::unified;
    const std::array<const char*, 2> places = {
        unified ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup/devices", "/sys/fs/cgroup"};
    struct statfs status = {};
    for (const char* const place : places)
        if (::statfs(place, &status) == 0
            && status.f_type == (unified ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
            return place;
    return "";
}

/// Path of this process in the hierarchy, "" for its root.
std::string own_path(ControlGroup::Version version)
{
    const auto file = base::read_file("/proc/self/cgroup");
    const std::string text = file ? *file : ""; // outlives the views of its lines
    const std::string_view key = version == ControlGroup::Version::unified ? "0::/" : ":devices:/";
    for (const std::string_view line : base::split(text, '\n'))
        if (const auto at = line.find(key); at != std::string_view::npos) {
            const std::string path(line.substr(at + key.size() - 1));
            return path == "/" ? "" : path;
        }
    return "";
}

int bpf(int command, bpf_attr& attributes)
{
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

} // namespace

std::optional<ControlGroup> ControlGroup::make(Version version)
{
    static std::atomic<int> number;
    const std::string top = hierarchy(version);
    const std::string path = own_path(version) + "/gpuctr-test-" + std::to_string(::getpid()) + "-"
                             + std::to_string(number++);
    constexpr mode_t mode = 0755;
    if (top.empty() || ::mkdir((top + path).c_str(), mode) != 0)
        return std::nullopt;
    return ControlGroup(top + path, path);
}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept
    : place_(std::exchange(other.place_, "")), path_(std::move(other.path_))
{
}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept
{
    std::swap(place_, other.place_);
    std::swap(path_, other.path_);
    return *this;
}

ControlGroup::~ControlGroup()
{
    if (place_.empty())
        return;
    (void)write("cgroup.freeze", "0");
    const std::string processes = read("cgroup.procs");
    for (const std::string_view pid : base::split(processes, '\n'))
        if (const auto number = base::to_number(pid); number && *number > 0)
            (void)::kill(static_cast<pid_t>(*number), SIGKILL);
    // A process that ends is in it for a moment still.
    for (int tries = 0; ::rmdir(place_.c_str()) != 0 && errno == EBUSY && tries < 1000; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

bool ControlGroup::write(std::string_view file, std::string_view text) const
{
    const base::UniqueFd fd(
        ::open((place_ + "/" + std::string(file)).c_str(), O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), text.data(), text.size()) == std::ssize(text);
}

std::string ControlGroup::read(std::string_view file) const
{
    const auto text = base::read_file(place_ + "/" + std::string(file));
    return text ? *text : "";
}

bool ControlGroup::forbid(unsigned major, unsigned minor) const
{
    const auto word = [](unsigned char code, unsigned char to, unsigned char from, short offset,
                         int value) {
        return bpf_insn{code, static_cast<__u8>(to & 0xfU), static_cast<__u8>(from & 0xfU), offset,
                        value};
    };
    constexpr unsigned char load = BPF_LDX | BPF_MEM | BPF_W;
    constexpr unsigned char set = BPF_ALU64 | BPF_MOV | BPF_K;
    constexpr unsigned char differs = BPF_JMP | BPF_JNE | BPF_K;
    const std::array<bpf_insn, 7> program = {
        word(load, 2, 1, offsetof(bpf_cgroup_dev_ctx, major), 0),
        word(load, 3, 1, offsetof(bpf_cgroup_dev_ctx, minor), 0),
        word(set, 0, 0, 0, 1),
        word(differs, 2, 0, 2, static_cast<int>(major)),
        word(differs, 3, 0, 1, static_cast<int>(minor)),
        word(set, 0, 0, 0, 0),
        word(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    bpf_attr load_it = {};
    load_it.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    load_it.insns = reinterpret_cast<std::uintptr_t>(program.data());
    load_it.insn_cnt = program.size();
    load_it.license = reinterpret_cast<std::uintptr_t>("MIT");
    const base::UniqueFd loaded(bpf(BPF_PROG_LOAD, load_it));
    const base::UniqueFd group(::open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bpf_attr attach_it = {};
    attach_it.target_fd = static_cast<__u32>(group.get());
    attach_it.attach_bpf_fd = static_cast<__u32>(loaded.get());
    attach_it.attach_type = BPF_CGROUP_DEVICE;
    attach_it.attach_flags = BPF_F_ALLOW_MULTI;
    return loaded && group && bpf(BPF_PROG_ATTACH, attach_it) == 0;
}

IdleProcess::IdleProcess() : pid_(::fork())
{
    if (pid_ == 0)
        while (true)
            ::pause();
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

void IdleProcess::end()
{
    if (pid_ <= 0)
        return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

} // namespace gpucontainer::test

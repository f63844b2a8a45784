// SPDX-License-Identifier: MIT
#include "front/log.hpp"

#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr const char* program = "nvidia-container-cli";

std::string_view name_of(FrontPhase phase)
{
    switch (phase) {
    case FrontPhase::input:
        return "input";
    case FrontPhase::initialization:
        return "initialization";
    case FrontPhase::device:
        return "device";
    case FrontPhase::container:
        return "container";
    case FrontPhase::mount:
        break;
    }
    return "mount";
}

/// Some errors have the same name in every phase. While GPUs are chosen, it is also found out what
/// they and the root file system cannot be used for.
std::string_view name_of(FrontPhase phase, const gpucontainer::Error& error)
{
    if (error.status() == GPUCTR_E_PERMISSION)
        return "permission";
    if (phase != FrontPhase::device)
        return name_of(phase);
    switch (error.status()) {
    case GPUCTR_E_REQUIREMENT:
        return "requirement";
    case GPUCTR_E_ROOTFS:
        return name_of(FrontPhase::container);
    case GPUCTR_E_DRIVER:
        return name_of(FrontPhase::initialization);
    default:
        return name_of(phase);
    }
}

std::string time_now()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    std::array<char, sizeof("2026-11-25T12:00:00")> text = {};
    if (::gmtime_r(&now, &parts) == nullptr
        || std::strftime(text.data(), text.size(), "%FT%T", &parts) == 0)
        return "";
    return text.data();
}

} // namespace

void FrontLog::open(const std::string& path)
{
    constexpr mode_t mode = 0644;
    // A FIFO that nobody reads is an error at once.
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    file_ = Fd(::open(path.c_str(), flags, mode));
    if (!file_)
        warn(formatted("--debug={}: {}", path, ::strerrordesc_np(errno)));
}

void FrontLog::open_by_variable(const std::string& path)
{
    constexpr std::array harmless = {"/dev/stderr", "/dev/stdout", "/dev/tty"};
    if (::geteuid() == 0 && std::find(harmless.begin(), harmless.end(), path) == harmless.end()) {
        warn(formatted("NVC_DEBUG_FILE={}: for root, --debug names the file", path));
        return;
    }
    open(path);
}

void FrontLog::note(const std::string& text) const
{
    if (!file_)
        return;
    const std::string line = formatted("{} {} {}\n", time_now(), ::getpid(), printable(text));
    // Nobody is told if the disk is full: the log is not what was asked for.
    if (::write(file_.get(), line.data(), line.size()) < 0)
        return;
}

void FrontLog::warn(const std::string& text) const
{
    note("warning: " + text);
    say(stderr, "{}: warning: {}\n", program, printable(text));
}

void FrontLog::fail(FrontPhase phase, const gpucontainer::Error& error) const
{
    std::string text = formatted("{} error: {}", name_of(phase, error), error.what());
    if (!error.hint().empty())
        text += formatted(" ({})", error.hint());
    note(text);
    say(stderr, "{}: {}\n", program, printable(text));
}

} // namespace gpuctr_cli

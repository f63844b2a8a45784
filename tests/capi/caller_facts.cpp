// SPDX-License-Identifier: MIT
#include "caller_facts.hpp"

#include <clocale>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gpucontainer::test {

void read_status(const std::string& path, Facts& facts)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(':');
        const std::string key = line.substr(0, colon);
        for (const char* wanted :
             {"Umask",           "Tgid",        "Uid",    "Gid",    "Groups",     "Threads",
              "SigPnd",          "ShdPnd",      "SigBlk", "SigIgn", "SigCgt",     "CapInh",
              "CapPrm",          "CapEff",      "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
              "Seccomp_filters", "Cpus_allowed"})
            if (key == wanted)
                facts[fmt::format("{} {}", path, key)] = line.substr(colon + 1);
    }
}

void read_links(const char* directory, Facts& facts)
{
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error);
        // The iterator's own descriptor shows among the others.
        if (!error && target.string().find("/fd") == std::string::npos)
            facts[entry.path()] = target;
    }
}

Facts facts_of_process()
{
    Facts facts;
    for (const char* path : {"/proc/self/status", "/proc/thread-self/status"})
        read_status(path, facts);
    for (const char* path : {"/proc/self/ns", "/proc/thread-self/ns", "/proc/self/fd"})
        read_links(path, facts);
    facts["cwd"] = std::filesystem::current_path();
    facts["root"] = std::filesystem::read_symlink("/proc/self/root");
    facts["dumpable"] = std::to_string(::prctl(PR_GET_DUMPABLE));
    facts["keepcaps"] = std::to_string(::prctl(PR_GET_KEEPCAPS));
    facts["securebits"] = std::to_string(::prctl(PR_GET_SECUREBITS));
    facts["timer slack"] = std::to_string(::prctl(PR_GET_TIMERSLACK));
    int number = 0;
    (void)::prctl(PR_GET_PDEATHSIG, &number);
    facts["death signal"] = std::to_string(number);
    (void)::prctl(PR_GET_CHILD_SUBREAPER, &number);
    facts["subreaper"] = std::to_string(number);
    facts["locale"] = std::setlocale(LC_ALL, nullptr);
    facts["environ"] = fmt::format("{}", static_cast<void*>(environ));
    for (char** variable = environ; *variable != nullptr; ++variable)
        facts[std::string("environment ") + *variable] = "";
    for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
        rlimit limit = {};
        (void)::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
        facts[fmt::format("limit {}", resource)] =
            fmt::format("{} {}", limit.rlim_cur, limit.rlim_max);
    }
    return facts;
}

std::vector<std::string> differences(const Facts& before, const Facts& after)
{
    std::vector<std::string> lines;
    for (const auto& [name, value] : before)
        if (const auto found = after.find(name); found == after.end())
            lines.push_back(name + " is gone");
        else if (found->second != value)
            lines.push_back(fmt::format("{} was {} and is {}", name, value, found->second));
    for (const auto& [name, value] : after)
        if (before.count(name) == 0)
            lines.push_back(fmt::format("{} appeared: {}", name, value));
    return lines;
}

void add_facts_of_threads(Facts& facts)
{
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        read_status(task.path() / "status", facts);
        read_links((task.path() / "ns").c_str(), facts);
    }
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action = {};
        if (::sigaction(number, nullptr, &action) == 0)
            facts[fmt::format("handler {}", number)] =
                fmt::format("{} {}", reinterpret_cast<void*>(action.sa_handler), action.sa_flags);
    }
}

} // namespace gpucontainer::test

// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/commands.hpp"
#include "options/groups.hpp"
#include "options/host_options.hpp"
#include "output/failure.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/descriptor.hpp"
#include "process/privileges.hpp"
#include "settings/settings.hpp"

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <gpucontainer/gpucontainer.hpp>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

/// The environment without variables that have our prefix and set no option of ours.
std::vector<const char*> variables_to_record()
{
    std::set<std::string, std::less<>> ours = {"GPUCTR_CONFIG"};
    for (std::size_t i = 0; const auto keys = keys_of_command(i); ++i)
        for (const auto& [name, takes_list] : *keys)
            ours.insert(variable_of_option(name));
    std::vector<const char*> variables;
    for (char** variable = environ; *variable != nullptr;
         ++variable) { // NOLINT(*-pointer-arithmetic)
        const std::string_view setting = *variable;
        if (!setting.starts_with("GPUCTR_") || ours.contains(setting.substr(0, setting.find('='))))
            variables.push_back(*variable);
    }
    variables.push_back(nullptr);
    return variables;
}

/// What is said at the end, in short, and with -v in full.
class Remarks {
public:
    void add(const gpucontainer::Finding& finding)
    {
        if (finding.code() == "identity_replaced")
            replaced_ += (replaced_.empty() ? "" : ", ")
                         + std::string(finding.text().substr(finding.text().find(' ') + 1));
        else
            missing_.push_back(finding.message());
    }

    void print(const std::string& place, bool with_identities, const Messages& messages) const
    {
        if (messages.verbosity == Verbosity::quiet)
            return;
        messages.tell("the report is in " + place,
                      "look through it before you pass it on; gpuctr-simhost runs programs on the "
                      "host that it describes");
        if (with_identities)
            messages.tell("nothing is replaced: it has UUIDs, serial numbers and names");
        else if (!replaced_.empty())
            messages.tell("replaced by made-up values: " + replaced_);
        if (messages.verbosity == Verbosity::verbose)
            for (const std::string& one : missing_)
                messages.tell("not recorded: " + one);
        else if (!missing_.empty())
            messages.tell(formatted("not recorded, because they could not be read: {}; -v lists "
                                    "them",
                                    missing_.size()));
    }

private:
    std::string replaced_;
    std::vector<std::string> missing_;
};

/// A capture of this host.
class ReportCommand : public Command {
public:
    void add_options(CLI::App& app) override
    {
        host_.add_places_to(app);
        app.option_defaults()->group(what_is_printed);
        app.add_option("-o,--output", path_, "write the report there, not to standard output")
            ->type_name("FILE");
        app.add_flag("--with-identities", with_identities_,
                     "keep serial numbers, UUIDs, MAC addresses, and names of the host and of "
                     "users");
    }

    void check_complete() const override
    {
        if (path_.empty() && ::isatty(STDOUT_FILENO) == 1)
            throw usage_error_of("report", "it is no text for a terminal: name a file with -o");
    }

    int run(const Call& call) override
    {
        shrink_privileges(GPUCTR_PHASE_LOOK);
        Remarks remarks;
        const auto note = [&](const gpucontainer::Finding& finding) { remarks.add(finding); };
        if (path_.empty()) {
            write(STDOUT_FILENO, note);
        } else {
            const Fd file = open_output();
            write(file.get(), note);
        }
        remarks.print(path_.empty() ? "standard output" : path_, with_identities_, call.messages());
        return ExitCode::done;
    }

private:
    /// A new file, or an older one of this user's. Others may have made links, FIFOs and files in
    /// a directory that all may write; who wants the report there says `> FILE`.
    Fd open_output() const
    {
        constexpr int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        Fd file(::open(path_.c_str(), flags | O_CREAT | O_EXCL, 0600));
        if (file)
            return file;
        if (errno != EEXIST)
            fail(errno);
        file.reset(::open(path_.c_str(), flags));
        struct stat status = {};
        if (!file || ::fstat(file.get(), &status) != 0)
            fail(errno);
        if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1)
            throw gpucontainer::Error(
                GPUCTR_E_USAGE,
                formatted("report {}: exists, and is not a file of this user's", path_),
                "name a new file, or write to standard output", 0, path_);
        if (::ftruncate(file.get(), 0) != 0)
            fail(errno);
        return file;
    }

    [[noreturn]] void fail(int os_error) const
    {
        throw gpucontainer::Error(
            os_error == EACCES ? GPUCTR_E_PERMISSION : GPUCTR_E_USAGE,
            formatted("report {}: {}", path_, std::generic_category().message(os_error)),
            "name a file in a directory that you may write", os_error, path_);
    }

    void write(int fd, const std::function<void(gpucontainer::Finding)>& note) const
    {
        const std::vector<const char*> variables = variables_to_record();
        gpucontainer::Host::capture(host_.options(), fd, with_identities_, variables.data(), note);
    }

    HostOptions host_;
    std::string path_;
    bool with_identities_ = false;
};

} // namespace

const CommandEntry report_command = {
    "report", "write what this host shows of its GPUs to one file, for a bug report",
    "[-o FILE] [OPTION]...",
    R"(
Write what this host shows of its GPUs to one file, for a bug report: what the
kernel says of them, device nodes, the names and ELF headers of driver files,
the loader's cache, CDI specifications, variables that choose GPUs, and what
`list` and `plan` make of it. No program or library is in it. Serial numbers,
UUIDs, MAC addresses, and names of the host and of users are replaced by made-up
ones. Nothing is executed, and no GPU is opened. It needs no privileges; what
cannot be read is left out.

The file is a tar archive of a recorded host, which gpuctr-simhost simulates.

Examples:
  gpuctr-setup report -o host.tar
      for a bug report; `tar tf host.tar` lists what is in it
  gpuctr-simhost host.tar -- gpuctr-setup list
      the same host on another machine
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<ReportCommand>(); }};

} // namespace gpuctr_cli

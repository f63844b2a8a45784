// SPDX-License-Identifier: MIT
// Calls the library as a program does that has standard input, output or error closed:
// its arguments are their numbers. Fails when one of them is open after a call. Marks
// for who traces it lie around each call.
#include "container_root.hpp"

#include <gpucontainer/config.hpp>
#include <gpucontainer/gpucontainer.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sched.h>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace gpucontainer;

constexpr const char* directory = "/tmp/gpuctr-closed-descriptors";
constexpr const char* configuration = "/tmp/gpuctr-closed-descriptors/config.yaml";

int move_away(int fd)
{
    constexpr int high_enough = 100;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, high_enough);
    (void)::close(fd);
    return moved;
}

class Calls {
public:
    explicit Calls(std::vector<int> closed) : closed_(std::move(closed))
    {
        for (const int fd : closed_)
            (void)::close(fd);
    }

    template <typename Work>
    void succeed(const std::string& what, Work&& work) const
    {
        mark("call begins");
        work();
        mark("call ends");
        check(what);
    }

    template <typename Work>
    void fail(const std::string& what, Work&& work) const
    {
        mark("call begins");
        bool failed = false;
        try {
            work();
        } catch (const Error&) {
            failed = true;
        }
        mark("call ends");
        if (!failed)
            throw std::runtime_error(what + " succeeds");
        check(what);
    }

private:
    static void mark(const char* name) { (void)::prctl(PR_SET_NAME, name); }

    void check(const std::string& what) const
    {
        for (const int fd : closed_)
            if (::fcntl(fd, F_GETFD) >= 0)
                throw std::runtime_error(fmt::format("{} leaves {} open", what, fd));
    }

    std::vector<int> closed_;
};

void look(const Calls& calls, int root)
{
    calls.succeed("a configuration", [] { const Config config(configuration); });
    calls.fail("a directory as configuration", [] { const Config config("/"); });
    std::optional<Host> host;
    calls.succeed("a host", [&] { host.emplace(); });
    calls.succeed("a record", [&] { host = Host::from_json(host->to_json()); });
    calls.succeed("its age", [&] { (void)host->is_current(); });
    calls.succeed("a plan", [&] { (void)Plan(*host, {}, root).to_json(); });
    calls.succeed("a plan without a root", [&] { const Plan plan(*host, {}, -1); });
    calls.fail("a file that is not there", [&] { (void)open_in_root(root, "/nowhere", O_PATH); });
    calls.succeed("a file for the caller", [&] {
        const int file = open_in_root(root, "/etc", O_PATH);
        (void)::close(file);
        if (file <= STDERR_FILENO)
            throw std::runtime_error("it is standard input, output or error");
    });
}

void set_up(const Calls& calls, const Plan& plan, int root, const ApplyOptions& options)
{
    const SetupListOptions where = {.state_dir = options.state_dir, .pidfd = options.pidfd};
    const UndoOptions how = {.state_dir = options.state_dir, .pidfd = options.pidfd};
    calls.succeed("apply", [&] { (void)plan.apply(root, options); });
    calls.succeed("another apply", [&] { (void)plan.apply(root, options); });
    calls.succeed("status", [&] { (void)SetupList(root, where).to_json(); });
    if (options.pidfd < 0)
        calls.succeed("undo of one", [&] { (void)(*SetupList(-1, where).begin()).undo(how); });
    calls.succeed("undo", [&] { (void)undo(root, how); });
    calls.fail("apply to nothing", [&] { (void)plan.apply(-1, options); });
}

void stage(const Calls& calls, const Plan& plan, int root, std::uint32_t backend)
{
    const std::string tree = std::string(directory) + "/tree";
    calls.succeed("stage", [&] { (void)plan.stage(tree, {.backend = backend}); });
    calls.succeed("unstage", [&] { (void)unstage(tree); });
    calls.succeed("attach", [&] {
        Prepared prepared = plan.prepare({.backend = backend});
        prepared.attach(root);
        prepared.undo(root);
    });
}

void make_calls(const Calls& calls, int root, int own_process)
{
    const Host host;
    ApplyOptions options;
    options.state_dir = std::string(directory) + "/state";
    look(calls, root);
    Request request;
    for (const auto backend :
         {GPUCTR_BACKEND_DETACHED, GPUCTR_BACKEND_ASSEMBLED, GPUCTR_BACKEND_LEGACY}) {
        options.backend = backend;
        request.lock = backend != GPUCTR_BACKEND_LEGACY;
        for (const auto write : {GPUCTR_WRITE_AUTO, GPUCTR_WRITE_NEVER}) {
            request.write = write;
            set_up(calls, Plan(host, request, root), root, options);
        }
        if (request.lock)
            stage(calls, Plan(host, request, root), root, backend);
    }
    options.backend = GPUCTR_BACKEND_AUTO;
    options.pidfd = own_process;
    set_up(calls, Plan(host, request, root), root, options);
}

} // namespace

int main(int argc, char** argv)
{
    // All that this program itself opens is out of the way.
    const int report = move_away(::dup(STDERR_FILENO));
    try {
        // Nothing of it is left on the machine: this mount namespace is the test's own.
        if (::mount("test", "/tmp", "tmpfs", 0, "mode=1777") != 0 || ::unshare(CLONE_FS) != 0
            || ::mkdir(directory, S_IRWXU) != 0)
            throw std::runtime_error("mounting is for root");
        std::ofstream(configuration) << "layout: tree\n";
        const test::ContainerRoot root(std::string(directory) + "/root");
        const int root_fd = move_away(::dup(root.fd()));
        const int process = move_away(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
        std::vector<int> closed;
        for (int i = 1; i < argc; ++i)
            closed.push_back(std::atoi(argv[i])); // NOLINT(cert-err34-c): the test's own
        make_calls(Calls(closed), root_fd, process);
        return 0;
    } catch (const std::exception& exception) {
        (void)::dprintf(report, "%s\n", exception.what());
        return 1;
    }
}

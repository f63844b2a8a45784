// SPDX-License-Identifier: MIT
// What the library's calls cost a caller: median microseconds of each.
#include <gpucontainer/gpucontainer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int warm_up_runs = 3;

struct HostDeleter {
    void operator()(gpuctr_host* host) const { gpuctr_host_free(host); }
};
struct PlanDeleter {
    void operator()(gpuctr_plan* plan) const { gpuctr_plan_free(plan); }
};
struct PreparedDeleter {
    void operator()(gpuctr_prepared* prepared) const { gpuctr_prepared_free(prepared); }
};
using Host = std::unique_ptr<gpuctr_host, HostDeleter>;
using Plan = std::unique_ptr<gpuctr_plan, PlanDeleter>;
using Prepared = std::unique_ptr<gpuctr_prepared, PreparedDeleter>;

/// Ends the program: a benchmark has nothing to say after a failure.
[[noreturn]] void fail(const std::string& message)
{
    (void)std::fprintf(stderr, "library_call: %s\n", message.c_str());
    std::exit(1);
}

/// By reference: what the call in the first argument writes is to be seen.
void check(gpuctr_status status, gpuctr_error* const& error)
{
    if (status != GPUCTR_OK)
        fail(std::string(gpuctr_error_message(error)) + "\nhint: " + gpuctr_error_hint(error));
}

void check(gpuctr_status status, const gpuctr_attach_error& error)
{
    if (status != GPUCTR_OK)
        fail(std::string(error.step) + " " + error.object);
}

/// The durations of one call over all runs.
class Phase {
public:
    explicit Phase(std::string name) : name_(std::move(name)) {}

    template <typename Call>
    void measure(Call&& call)
    {
        const auto start = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double, std::micro> taken =
            std::chrono::steady_clock::now() - start;
        microseconds_.push_back(taken.count());
    }

    double last() const { return microseconds_.back(); }
    void add(double microseconds) { microseconds_.push_back(microseconds); }
    void forget() { microseconds_.clear(); }

    void print() const
    {
        std::vector<double> sorted = microseconds_;
        std::sort(sorted.begin(), sorted.end());
        std::printf("| %-30s | %9.1f | %9.1f | %9.1f |\n", name_.c_str(), sorted[sorted.size() / 2],
                    sorted.front(), sorted[sorted.size() * 9 / 10]);
    }

private:
    std::string name_;
    std::vector<double> microseconds_;
};

Host open_host()
{
    gpuctr_error* error = nullptr;
    gpuctr_host* host = nullptr;
    check(gpuctr_host_open(nullptr, &host, &error), error);
    return Host(host);
}

Plan create_plan(const Host& host, int rootfs, std::uint32_t write)
{
    gpuctr_error* error = nullptr;
    gpuctr_plan* plan = nullptr;
    gpuctr_request request = GPUCTR_REQUEST_INIT;
    request.devices = "all";
    request.write = write;
    check(gpuctr_plan_create(host.get(), &request, rootfs, &plan, &error), error);
    return Plan(plan);
}

Prepared prepare(const Plan& plan)
{
    gpuctr_error* error = nullptr;
    gpuctr_prepared* prepared = nullptr;
    check(gpuctr_plan_prepare(plan.get(), nullptr, &prepared, &error), error);
    return Prepared(prepared);
}

/// From detection to committed mounts, as a runtime does it, and back.
class RuntimeCalls {
public:
    void run(int rootfs)
    {
        Host host;
        Plan plan;
        Prepared prepared;
        gpuctr_attach_error failure = {};
        open_.measure([&] { host = open_host(); });
        create_.measure([&] { plan = create_plan(host, rootfs, GPUCTR_WRITE_NEVER); });
        prepare_.measure([&] { prepared = prepare(plan); });
        attach_.measure(
            [&] { check(gpuctr_prepared_attach(prepared.get(), rootfs, &failure), failure); });
        total_.add(open_.last() + create_.last() + prepare_.last() + attach_.last());
        undo_.measure(
            [&] { check(gpuctr_prepared_undo(prepared.get(), rootfs, &failure), failure); });
    }

    template <typename Action>
    void for_each(Action&& action)
    {
        for (Phase* phase : {&open_, &create_, &prepare_, &attach_, &total_, &undo_})
            action(*phase);
    }

private:
    Phase open_{"host_open"};
    Phase create_{"plan_create, names by mounts"};
    Phase prepare_{"plan_prepare"};
    Phase attach_{"prepared_attach"};
    Phase total_{"from detection to mounts"};
    Phase undo_{"prepared_undo"};
};

/// The same in one call, with a journal and names in the root file system.
class ApplyCalls {
public:
    void run(const char* path, const gpuctr_apply_options& options)
    {
        Host host;
        Plan plan;
        gpuctr_error* error = nullptr;
        int rootfs = open_directory(path);
        open_.measure([&] { host = open_host(); });
        create_.measure([&] { plan = create_plan(host, rootfs, GPUCTR_WRITE_AUTO); });
        apply_.measure([&] {
            check(gpuctr_plan_apply(plan.get(), rootfs, &options, nullptr, &error), error);
        });
        total_.add(open_.last() + create_.last() + apply_.last());
        ::close(rootfs);
        rootfs = open_directory(path); // the root with the mounts on it
        undo_.measure([&] { check(gpuctr_rootfs_undo(rootfs, &options, nullptr, &error), error); });
        ::close(rootfs);
    }

    static int open_directory(const char* path)
    {
        const int directory = ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
            fail(std::string("cannot open ") + path);
        return directory;
    }

    template <typename Action>
    void for_each(Action&& action)
    {
        for (Phase* phase : {&create_, &apply_, &total_, &undo_})
            action(*phase);
    }

private:
    Phase open_{"host_open"};
    Phase create_{"plan_create, names written"};
    Phase apply_{"plan_apply"};
    Phase total_{"from detection to applied"};
    Phase undo_{"rootfs_undo"};
};

template <typename Calls, typename... Arguments>
void measure(long runs, Calls& calls, const Arguments&... arguments)
{
    for (long i = 0; i < warm_up_runs + runs; ++i) {
        if (i == warm_up_runs)
            calls.for_each([](Phase& phase) { phase.forget(); });
        calls.run(arguments...);
    }
}

} // namespace

int main(int argc, char** argv)
{
    const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
    const long runs = argc > 3 ? std::strtol(arguments[3], nullptr, 10) : 200;
    if (argc < 3 || argc > 4 || runs < 1) {
        (void)std::fprintf(stderr, "usage: library_call ROOTFS STATE_DIR [RUNS]\n"
                                   "ROOTFS must be a private mount, STATE_DIR outside of it\n");
        return 2;
    }
    const char* path = arguments[1];
    gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
    options.state_dir = arguments[2];

    RuntimeCalls runtime;
    const int rootfs = ApplyCalls::open_directory(path);
    measure(runs, runtime, rootfs);
    ::close(rootfs);
    ApplyCalls apply;
    measure(runs, apply, path, options);

    std::printf("| %-30s | %9s | %9s | %9s |\n", "us, median of runs", "median", "min", "p90");
    std::printf("| --- | --- | --- | --- |\n");
    runtime.for_each([](const Phase& phase) { phase.print(); });
    apply.for_each([](const Phase& phase) { phase.print(); });
    return 0;
}

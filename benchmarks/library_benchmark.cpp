// SPDX-License-Identifier: MIT
// What the library's calls cost a caller, each alone and together.
//
// An iteration is a whole set-up and its undo, of which a benchmark counts the
// part that it is named after.
#include "single_calls.hpp"

#include <gpucontainer/gpucontainer.h>

#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr int warm_up_runs = 3;

struct Deleter {
    void operator()(gpuctr_host* host) const { gpuctr_host_free(host); }
    void operator()(gpuctr_plan* plan) const { gpuctr_plan_free(plan); }
    void operator()(gpuctr_prepared* prepared) const { gpuctr_prepared_free(prepared); }
};
using Host = std::unique_ptr<gpuctr_host, Deleter>;
using Plan = std::unique_ptr<gpuctr_plan, Deleter>;
using Prepared = std::unique_ptr<gpuctr_prepared, Deleter>;

/// Ends the program: a benchmark has nothing to say after a failure.
[[noreturn]] void fail(const std::string& message)
{
    (void)std::fprintf(stderr, "library_benchmark: %s\n", message.c_str());
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

int open_directory(const std::string& path)
{
    const int directory = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        fail("cannot open " + path);
    return directory;
}

/// Seconds that a call takes.
template <typename Call>
double seconds(Call&& call)
{
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Host open_host()
{
    gpuctr_error* error = nullptr;
    gpuctr_host* host = nullptr;
    check(gpuctr_host_open(nullptr, &host, &error), error);
    return Host(host);
}

Plan create_plan(const Host& host, const gpuctr_request& request, int rootfs)
{
    gpuctr_error* error = nullptr;
    gpuctr_plan* plan = nullptr;
    check(gpuctr_plan_create(host.get(), &request, rootfs, &plan, &error), error);
    return Plan(plan);
}

/// `staged_tree` is where a tree to clone may be; or null.
Prepared prepare(const Plan& plan, const char* staged_tree = nullptr)
{
    gpuctr_prepare_options options = GPUCTR_PREPARE_OPTIONS_INIT;
    options.staged_tree = staged_tree;
    gpuctr_error* error = nullptr;
    gpuctr_prepared* prepared = nullptr;
    check(gpuctr_plan_prepare(plan.get(), &options, &prepared, &error), error);
    return Prepared(prepared);
}

/// Where the set-ups are made, and for which GPUs.
struct Place {
    std::string rootfs;      ///< A private mount.
    std::string state_dir;   ///< Outside of the root.
    std::string staged_tree; ///< As well.
    std::string devices = "all";

    gpuctr_request request(std::uint32_t write) const
    {
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.devices = devices.c_str();
        request.write = write;
        return request;
    }
};

/// From detection to committed mounts as a runtime does it, and back.
struct Attached {
    double host = 0; ///< Recorded, or a record of before looked at.
    double create = 0;
    double prepare = 0;
    double attach = 0;
    double undo = 0;

    double mounts() const { return prepare + attach; }
    double together() const { return host + create + mounts(); }
};

Attached attach(const Place& place, const gpuctr_request& request, const Host& recorded = {},
                const char* staged_tree = nullptr)
{
    Attached taken;
    Host host;
    Plan plan;
    Prepared prepared;
    gpuctr_attach_error failure = {};
    const int rootfs = open_directory(place.rootfs);
    taken.host = seconds([&] {
        if (!recorded)
            host = open_host();
        else if (gpuctr_host_is_current(recorded.get()) == 0)
            fail("the host is not as it was");
    });
    taken.create =
        seconds([&] { plan = create_plan(recorded ? recorded : host, request, rootfs); });
    taken.prepare = seconds([&] { prepared = prepare(plan, staged_tree); });
    taken.attach =
        seconds([&] { check(gpuctr_prepared_attach(prepared.get(), rootfs, &failure), failure); });
    taken.undo =
        seconds([&] { check(gpuctr_prepared_undo(prepared.get(), rootfs, &failure), failure); });
    ::close(rootfs);
    return taken;
}

/// The same in one call, with a journal and names in the root file system.
struct Applied {
    double host = 0;
    double create = 0;
    double apply = 0;
    double undo = 0;

    double together() const { return host + create + apply; }
};

Applied apply(const Place& place)
{
    Applied taken;
    Host host;
    Plan plan;
    gpuctr_error* error = nullptr;
    gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
    options.state_dir = place.state_dir.c_str();
    const gpuctr_request request = place.request(GPUCTR_WRITE_AUTO);
    const int rootfs = open_directory(place.rootfs);
    taken.host = seconds([&] { host = open_host(); });
    taken.create = seconds([&] { plan = create_plan(host, request, rootfs); });
    taken.apply = seconds(
        [&] { check(gpuctr_plan_apply(plan.get(), rootfs, &options, nullptr, &error), error); });
    ::close(rootfs);
    const int applied = open_directory(place.rootfs); // the root with the mounts on it
    gpuctr_undo_options undo = GPUCTR_UNDO_OPTIONS_INIT;
    undo.state_dir = place.state_dir.c_str();
    taken.undo =
        seconds([&] { check(gpuctr_rootfs_undo(applied, &undo, nullptr, &error), error); });
    ::close(applied);
    return taken;
}

/// The driver's files, mounted for later containers while this lives.
class StagedTree {
public:
    StagedTree(const Place& place, const Host& host) : directory_(place.staged_tree)
    {
        gpuctr_error* error = nullptr;
        const Plan plan = create_plan(host, place.request(GPUCTR_WRITE_NEVER), -1);
        check(gpuctr_plan_stage(plan.get(), directory_.c_str(), nullptr, nullptr, &error), error);
    }
    StagedTree(const StagedTree&) = delete;
    StagedTree& operator=(const StagedTree&) = delete;
    ~StagedTree() { (void)gpuctr_unstage(directory_.c_str(), nullptr, nullptr, nullptr); }

private:
    std::string directory_;
};

/// One part of what a run does, which the clock is told of by hand.
class Part final : public benchmark::internal::Benchmark {
public:
    Part(const std::string& name, std::function<double()> measured)
        : Benchmark(name.c_str()), measure_(std::move(measured))
    {
        count_single_calls(this);
        UseManualTime();
    }

    void Run(benchmark::State& state) override
    {
        while (state.KeepRunning())
            state.SetIterationTime(measure_());
    }

private:
    std::function<double()> measure_;
};

template <typename Run, typename Member>
void add(const std::string& name, Run run, Member member)
{
    auto part = std::make_unique<Part>(name, [=] { return std::invoke(member, run()); });
    benchmark::internal::RegisterBenchmarkInternal(part.release()); // which owns it
}

void add_first_container(const Place& place)
{
    const auto mounted = [&place] { return attach(place, place.request(GPUCTR_WRITE_NEVER)); };
    const auto written = [&place] { return attach(place, place.request(GPUCTR_WRITE_ALWAYS)); };
    add("first/host_open", mounted, &Attached::host);
    add("first/plan_create", mounted, &Attached::create);
    add("first/plan_prepare", mounted, &Attached::prepare);
    add("first/prepared_attach", mounted, &Attached::attach);
    add("first/together", mounted, &Attached::together);
    add("first/prepared_undo", mounted, &Attached::undo);
    add("first_written/plan_create", written, &Attached::create);
    add("first_written/plan_prepare", written, &Attached::prepare);
    add("first_written/prepared_attach", written, &Attached::attach);
    add("first_written/together", written, &Attached::together);
    add("first_written/prepared_undo", written, &Attached::undo);
}

void add_apply(const Place& place)
{
    const auto applied = [&place] { return apply(place); };
    add("apply/plan_create", applied, &Applied::create);
    add("apply/plan_apply", applied, &Applied::apply);
    add("apply/together", applied, &Applied::together);
    add("apply/rootfs_undo", applied, &Applied::undo);
}

void add_second_container(const std::string& name, const Place& place, const Host& host,
                          std::uint32_t write)
{
    const auto staged = [&place, &host, write] {
        return attach(place, place.request(write), host, place.staged_tree.c_str());
    };
    add(name + "/host_is_current", staged, &Attached::host);
    add(name + "/plan_create", staged, &Attached::create);
    add(name + "/plan_prepare", staged, &Attached::prepare);
    add(name + "/prepared_attach", staged, &Attached::attach);
    add(name + "/together", staged, &Attached::together);
    add(name + "/prepare_and_attach", staged, &Attached::mounts);
    add(name + "/prepared_undo", staged, &Attached::undo);
}

/// Most memory that this process has had, in KiB.
std::string peak_memory()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word)
        if (word == "VmHWM:" && status >> word)
            return word;
    return "0";
}

/// The first calls of all find the pages cold, and show what they make a process grow by.
void warm_up(const Place& place)
{
    benchmark::AddCustomContext("peak_kib_before", peak_memory());
    for (int run = 0; run < warm_up_runs; ++run)
        (void)attach(place, place.request(GPUCTR_WRITE_NEVER));
    benchmark::AddCustomContext("peak_kib_attached", peak_memory());
    for (int run = 0; run < warm_up_runs; ++run)
        (void)apply(place);
    benchmark::AddCustomContext("peak_kib_applied", peak_memory());
}

} // namespace

int main(int argc, char** argv)
{
    benchmark::Initialize(&argc, argv);
    const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
    if (argc < 4 || argc > 5) {
        (void)std::fprintf(stderr, "usage: library_benchmark [--benchmark_OPTION]... ROOTFS "
                                   "STATE_DIR STAGED_TREE [DEVICES]\n"
                                   "ROOTFS must be a private mount, the others outside of it\n");
        return 2;
    }
    Place place = {arguments[1], arguments[2], arguments[3]};
    if (argc == 5)
        place.devices = arguments[4];

    warm_up(place);
    const Host host = open_host();
    const StagedTree tree(place, host);
    add_first_container(place);
    add_apply(place);
    add_second_container("second", place, host, GPUCTR_WRITE_NEVER);
    add_second_container("second_written", place, host, GPUCTR_WRITE_ALWAYS);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

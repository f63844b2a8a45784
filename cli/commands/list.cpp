// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/columns.hpp"
#include "options/request_options.hpp"
#include "options/values.hpp"
#include "output/findings.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <array>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Driver;

std::string number(std::optional<unsigned> value) { return value ? std::to_string(*value) : "-"; }

/// What a user types: an instance of a GPU has no number of its own.
std::string label_of(const gpucontainer::Gpu& gpu)
{
    return gpu.parent() && !gpu.names().empty() ? std::string(*gpu.names().begin())
                                                : std::to_string(gpu.index());
}

/// Each GPU with its instances after it.
std::vector<gpucontainer::Gpu> in_order(const Driver& driver)
{
    std::vector<gpucontainer::Gpu> all;
    for (const auto gpu : driver.gpus()) {
        if (gpu.parent())
            continue;
        all.push_back(gpu);
        for (const auto instance : driver.gpus())
            if (instance.parent() == gpu.index())
                all.push_back(instance);
    }
    return all;
}

std::string label_of(const Driver& driver, std::optional<unsigned> gpu)
{
    return gpu && *gpu < driver.gpus().size() ? printable(label_of(driver.gpus()[*gpu])) : "-";
}

void print_gpus(const Driver& driver, const Streams& streams)
{
    if (driver.gpus().empty())
        return;
    Table table({"GPU", "UUID", "PCI ADDRESS", "NODE", "NUMA", "MODEL"});
    for (const auto gpu : in_order(driver))
        table.add({printable(label_of(gpu)), gpu.uuid().empty() ? "-" : printable(gpu.uuid()),
                   gpu.pci_address().empty() ? "-" : printable(gpu.pci_address()),
                   number(gpu.minor_number()), number(gpu.numa_node()), printable(gpu.model())});
    table.print(streams.out, streams.of_out);
    print(streams.out, "\n");
}

void print_nodes(const Driver& driver, const Streams& streams)
{
    if (driver.nodes().empty())
        return;
    Table table({"DEVICE NODE", "NUMBER", "GPU", "USABLE"});
    for (const auto node : driver.nodes())
        table.add({printable(node.path()),
                   formatted("{}:{}", node.major_number(), node.minor_number()),
                   label_of(driver, node.gpu()), node.accessible() ? "yes" : "no"});
    table.print(streams.out, streams.of_out);
    print(streams.out, "\n");
}

void print_files(const Driver& driver, const Streams& streams)
{
    Table table({"FILE", "CAPABILITY", "PATH"});
    for (const auto file : driver.files())
        table.add({printable(file.soname().empty() ? file.name() : file.soname()),
                   formatted("{}{}", file.capability(), file.is_compat32() ? ",compat32" : ""),
                   printable(file.path())});
    table.print(streams.out, streams.of_out);
}

/// A container gets them only if it asks for them.
void print_compat32(const Driver& driver, const Streams& streams)
{
    std::string names;
    for (const auto file : driver.files())
        if (file.is_compat32())
            names += formatted("{}{}", names.empty() ? "" : ", ", printable(file.soname()));
    if (!names.empty())
        print(streams.out, "\n{} {}: given with --driver-capabilities compat32\n",
              streams.of_out.heading("for 32-bit programs:"), names);
}

const char* remark_on(const Driver& driver)
{
    if (driver.gpus().empty())
        return " (its files alone)";
    const std::string_view source = driver.version_source();
    return source == "files"    ? " (from its files; no kernel module is loaded)"
           : source == "option" ? " (as given)"
                                : "";
}

void print_driver(const Driver& driver, Verbosity verbosity, const Streams& streams)
{
    print(streams.out, "{} driver{}{}{}\n\n", printable(driver.vendor_name()),
          driver.version().empty() ? "" : " ", printable(driver.version()), remark_on(driver));
    print_gpus(driver, streams);
    print_nodes(driver, streams);
    print_files(driver, streams);
    if (verbosity == Verbosity::verbose) {
        print_notes(driver.findings(), streams.out, streams.of_out);
        print_compat32(driver, streams);
    }
}

/// Warns of drivers without a GPU. Other findings concern plans.
void warn_of_files_alone(const gpucontainer::Host& host, const Messages& messages)
{
    for (const auto driver : host.drivers())
        if (driver.gpus().empty())
            warn_about(driver.findings(), messages);
}

void say_that_nothing_is_here(const HostOptions& options, const Messages& messages)
{
    const bool asks_for_all = options.vendors.empty() && options.record.empty();
    messages.tell("no GPU on this host",
                  asks_for_all ? "name a vendor, such as --nv, to list its driver's files" : "");
}

/// A row of the table that --output chooses columns of.
struct GpuRow {
    Driver driver;
    gpucontainer::Gpu gpu;
};

std::string number_or_nothing(std::optional<unsigned> value)
{
    return value ? std::to_string(*value) : "";
}

constexpr std::array columns_of_gpus = {
    Column<GpuRow>{"VENDOR", true, [](const GpuRow& r) { return std::string(r.driver.vendor()); }},
    Column<GpuRow>{"GPU", true, [](const GpuRow& r) { return label_of(r.gpu); }},
    Column<GpuRow>{"UUID", true, [](const GpuRow& r) { return std::string(r.gpu.uuid()); }},
    Column<GpuRow>{"PCI", true, [](const GpuRow& r) { return std::string(r.gpu.pci_address()); }},
    Column<GpuRow>{"NODE", false,
                   [](const GpuRow& r) { return number_or_nothing(r.gpu.minor_number()); }},
    Column<GpuRow>{"NUMA", false,
                   [](const GpuRow& r) { return number_or_nothing(r.gpu.numa_node()); }},
    Column<GpuRow>{"ARCH", false,
                   [](const GpuRow& r) { return std::string(r.gpu.architecture()); }},
    Column<GpuRow>{"DRIVER", false,
                   [](const GpuRow& r) { return std::string(r.driver.version()); }},
    Column<GpuRow>{"MODEL", true, [](const GpuRow& r) { return std::string(r.gpu.model()); }},
};

std::vector<GpuRow> gpus_of(const gpucontainer::Host& host)
{
    std::vector<GpuRow> rows;
    for (const auto driver : host.drivers())
        for (const auto gpu : in_order(driver))
            rows.push_back({driver, gpu});
    return rows;
}

/// With --if-present, lists all vendors if the one that was asked for is not here.
gpucontainer::Host open(HostOptions options)
{
    try {
        return options.open_to_list();
    } catch (const gpucontainer::Error& error) {
        if (!options.if_present || error.status() != GPUCTR_E_NO_DEVICE)
            throw;
    }
    options.vendors.clear();
    return options.open_to_list();
}

/// The GPUs and drivers of this host.
class List : public Command {
public:
    void add_options(CLI::App& app) override
    {
        host_.add_to(app);
        host_.add_record_to(app);
        add_format_to(app);
        add_columns<GpuRow>(app, columns_of_gpus, columns_);
    }

    int run(const Call& call) override
    {
        shrink_privileges(GPUCTR_PHASE_LOOK);
        const gpucontainer::Host host = open(host_);
        if (columns_.is_given)
            print_columns<GpuRow>(gpus_of(host), columns_of_gpus, columns_, call.streams.out,
                                  call.streams.of_out);
        else if (format() == Format::json)
            print(call.streams.out, "{}", host.to_json());
        else
            for (const auto driver : host.drivers())
                print_driver(driver, call.verbosity, call.streams);
        warn_about(host.findings(), call.messages());
        warn_of_files_alone(host, call.messages());
        if (host.drivers().empty() && host.findings().empty() && call.verbosity != Verbosity::quiet)
            say_that_nothing_is_here(host_, call.messages());
        return ExitCode::done;
    }

private:
    HostOptions host_;
    ColumnOptions columns_;
};

} // namespace

const CommandEntry list_command = {
    "list", "show the GPUs, driver files and device nodes of this host", "[VENDOR...] [OPTION]...",
    R"(
Show the GPUs of this host, and the version, device nodes and files of their
drivers. With a vendor, show only that vendor. Its driver's files are then
listed even if it has no GPU here.

Examples:
  gpuctr-setup list
      all vendors
  gpuctr-setup list -no UUID,MODEL
      two columns of the table of GPUs, for a script
  gpuctr-setup list --nv --json >host.json
      a record of this host, which `list` and `plan` take with --host
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<List>(); }};

} // namespace gpuctr_cli

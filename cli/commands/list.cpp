// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/skipped.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Driver;

std::string number(std::optional<unsigned> value) { return value ? std::to_string(*value) : "-"; }

void print_gpus(const Driver& driver, std::FILE* out)
{
    if (driver.gpus().empty())
        return;
    Table table({"GPU", "UUID", "PCI ADDRESS", "NODE", "NUMA", "MODEL"});
    for (const auto gpu : driver.gpus())
        table.add({std::to_string(gpu.index()), gpu.uuid().empty() ? "-" : printable(gpu.uuid()),
                   gpu.pci_address().empty() ? "-" : printable(gpu.pci_address()),
                   number(gpu.minor_number()), number(gpu.numa_node()), printable(gpu.model())});
    table.print(out);
    print(out, "\n");
}

void print_nodes(const Driver& driver, std::FILE* out)
{
    if (driver.nodes().empty())
        return;
    Table table({"DEVICE NODE", "NUMBER", "GPU", "USABLE"});
    for (const auto node : driver.nodes())
        table.add({printable(node.path()),
                   formatted("{}:{}", node.major_number(), node.minor_number()), number(node.gpu()),
                   node.accessible() ? "yes" : "no"});
    table.print(out);
    print(out, "\n");
}

void print_files(const Driver& driver, std::FILE* out)
{
    Table table({"FILE", "CAPABILITY", "PATH"});
    for (const auto file : driver.files())
        table.add({printable(file.soname().empty() ? file.name() : file.soname()),
                   std::string(file.capability()), printable(file.path())});
    table.print(out);
}

const char* remark_on(const Driver& driver)
{
    if (driver.gpus().empty())
        return " (its files alone)";
    const std::string_view source = driver.version_source();
    return source == "files"    ? " (of its files; no kernel module is loaded)"
           : source == "option" ? " (as given)"
                                : "";
}

void print_driver(const Driver& driver, Verbosity verbosity, std::FILE* out)
{
    print(out, "{} driver{}{}{}\n\n", driver.vendor_name(), driver.version().empty() ? "" : " ",
          driver.version(), remark_on(driver));
    print_gpus(driver, out);
    print_nodes(driver, out);
    print_files(driver, out);
    if (verbosity == Verbosity::verbose)
        print_skipped(driver.skipped(), out);
}

/// That a driver is there without a GPU; what else is wrong with one concerns plans.
void warn_of_files_alone(const gpucontainer::Host& host, const Messages& messages)
{
    for (const auto driver : host.drivers())
        if (driver.gpus().empty())
            for (const std::string_view warning : driver.warnings())
                messages.warn(warning);
}

void say_that_nothing_is_here(const HostOptions& options, std::FILE* err)
{
    say(err, "gpuctr-setup: no GPU on this host\n");
    if (options.vendors.empty() && options.record.empty())
        say(err, "hint: with the option of a vendor, such as --nv, `list` shows its driver's "
                 "files\n");
}

/// What there is is listed, if not what was asked for.
gpucontainer::Host open(HostOptions options)
{
    try {
        return options.open(true);
    } catch (const gpucontainer::Error& error) {
        if (!options.if_present || error.status() != GPUCTR_E_NO_DEVICE)
            throw;
    }
    options.vendors.clear();
    return options.open(true);
}

} // namespace

/// `gpuctr-setup list`: the GPUs and drivers of this host.
void add_list_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    struct Options {
        HostOptions host;
        Format format = Format::text;
    };
    auto options = std::make_shared<Options>();

    CLI::App& command =
        *app.add_subcommand("list", "the GPUs, driver, files and nodes of this host");
    options->host.add_to(command);
    options->host.add_record_to(command);
    add_format_option(command, options->format);

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) -> int {
            shrink_privileges(GPUCTR_PHASE_LOOK);
            const gpucontainer::Host host = open(options->host);
            if (options->format == Format::json)
                print(streams.out, "{}", host.to_json());
            else
                for (const auto driver : host.drivers())
                    print_driver(driver, verbosity, streams.out);
            const Messages messages = {streams.err, verbosity};
            warn_about(host, messages);
            warn_of_files_alone(host, messages);
            if (host.drivers().empty() && host.skipped().empty() && verbosity != Verbosity::quiet)
                say_that_nothing_is_here(options->host, streams.err);
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup

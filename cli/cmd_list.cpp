// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "messages.hpp"
#include "output.hpp"
#include "privileges.hpp"
#include "request_options.hpp"
#include "skipped.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Driver;

std::string number(std::optional<unsigned> value) { return value ? std::to_string(*value) : "-"; }

void print_gpus(const Driver& driver, std::FILE* out)
{
    Table table({"GPU", "UUID", "PCI ADDRESS", "NODE", "NUMA", "MODEL"});
    for (const auto gpu : driver.gpus())
        table.add({std::to_string(gpu.index()), gpu.uuid().empty() ? "-" : printable(gpu.uuid()),
                   gpu.pci_address().empty() ? "-" : printable(gpu.pci_address()),
                   number(gpu.minor_number()), number(gpu.numa_node()), printable(gpu.model())});
    table.print(out);
}

void print_nodes(const Driver& driver, std::FILE* out)
{
    Table table({"DEVICE NODE", "NUMBER", "GPU", "USABLE"});
    for (const auto node : driver.nodes())
        table.add({printable(node.path()),
                   fmt::format("{}:{}", node.major_number(), node.minor_number()),
                   number(node.gpu()), node.accessible() ? "yes" : "no"});
    table.print(out);
}

void print_files(const Driver& driver, std::FILE* out)
{
    Table table({"FILE", "CAPABILITY", "PATH"});
    for (const auto file : driver.files())
        table.add({printable(file.soname().empty() ? file.name() : file.soname()),
                   std::string(file.capability()), printable(file.path())});
    table.print(out);
}

void print_driver(const Driver& driver, Verbosity verbosity, std::FILE* out)
{
    const std::string_view source = driver.version_source();
    print(out, "{} driver {}{}\n\n", driver.vendor(), driver.version(),
          source == "files"    ? " (of its files; no kernel module is loaded)"
          : source == "option" ? " (as given)"
                               : "");
    print_gpus(driver, out);
    print(out, "\n");
    print_nodes(driver, out);
    print(out, "\n");
    print_files(driver, out);
    if (verbosity == Verbosity::verbose)
        print_skipped(driver.skipped(), out);
}

/// What there is is listed, if not what was asked for.
gpucontainer::Host open(HostOptions options)
{
    try {
        return options.open();
    } catch (const gpucontainer::Error& error) {
        if (!options.if_present || error.status() != GPUCTR_E_NO_DEVICE)
            throw;
    }
    options.vendors = 0;
    return options.open();
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
    command.add_option("--format", options->format)
        ->transform(CLI::CheckedTransformer(format_names()))
        ->type_name("text|json");

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) -> int {
            shrink_privileges(GPUCTR_PHASE_LOOK);
            const gpucontainer::Host host = open(options->host);
            if (options->format == Format::json)
                print(streams.out, "{}", host.to_json());
            else
                for (const auto driver : host.drivers())
                    print_driver(driver, verbosity, streams.out);
            warn_about(host, {streams.err, verbosity});
            const bool has_nothing = host.drivers().empty() && host.skipped().empty();
            if (has_nothing && verbosity != Verbosity::quiet)
                say(streams.err, "gpuctr-setup: no GPU on this host\n");
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup

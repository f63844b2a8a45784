// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "request_options.hpp"

#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {

/// `gpuctr-setup undo`: take away what apply did, and only that.
void add_undo_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    struct Options {
        std::string rootfs;
        std::string state;
    };
    auto options = std::make_shared<Options>();

    CLI::App& command = *app.add_subcommand("undo", "take away what apply did, and only that");
    command.add_option("--rootfs", options->rootfs, "root file system of the container")
        ->type_name("DIR");
    add_state_option(command, options->state);

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) -> int {
            if (options->rootfs.empty())
                throw gpucontainer::Error(GPUCTR_E_USAGE, "--rootfs is required",
                                          "gpuctr-setup --help", 0);
            const RootDirectory root(options->rootfs);
            const bool found = gpucontainer::undo(root.fd(), state_directory(options->state));
            if (!found && verbosity != Verbosity::quiet)
                fmt::print(streams.err, "gpuctr-setup: nothing is set up in {}\n", options->rootfs);
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup

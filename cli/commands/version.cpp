// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "output/output.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

class Version : public Command {
public:
    void add_options(CLI::App& /*app*/) override {}

    int run(const Call& call) override
    {
        print(call.streams.out, "gpuctr-setup {}\n", gpucontainer::version());
        return ExitCode::done;
    }
};

} // namespace

const CommandEntry version_command = {
    "version", "print the version", "",
    R"(
Print the version of the library, as `gpuctr-setup --version` does.
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Version>(); }};

} // namespace gpuctr_cli

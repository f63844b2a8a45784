// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "output/failure.hpp"

#include <memory>

namespace gpuctr_cli {
namespace {

/// The name of a group of commands alone does nothing.
class Cdi : public Command {
public:
    void add_options(CLI::App& /*app*/) override {}
    void check_complete() const override
    {
        throw usage_error_of("cdi", "cdi: say what to do: generate, validate, list or apply");
    }
    int run(const Call& /*call*/) override { return ExitCode::internal_error; }
};

} // namespace

const CommandEntry cdi_command = {
    "cdi", "specifications of the Container Device Interface", "COMMAND [OPTION]...",
    R"(
Container engines give GPUs to a container by specifications of the Container
Device Interface (CDI): podman, containerd, CRI-O and Docker read those in
/etc/cdi and /var/run/cdi. Then `podman run --device nvidia.com/gpu=0` does
what is needed.
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Cdi>(); }};

} // namespace gpuctr_cli

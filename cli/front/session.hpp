// SPDX-License-Identifier: MIT
#pragma once

#include "front/arguments.hpp"
#include "front/log.hpp"
#include "options/request_options.hpp"
#include "output/messages.hpp"
#include "settings/origins.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// One call of `nvidia-container-cli`.
class FrontSession {
public:
    /// Forgets the environment: callers pass on what a container's image sets. Only where the log
    /// goes is read of it.
    FrontSession(int argc, char** argv);

    FrontArguments arguments;
    RequestOptions options;
    FrontLog log;
    FrontPhase phase = FrontPhase::input; ///< For an error.
    Streams streams = {stdout, stderr};

    /// Looks at the driver: reads the options that say where it is, adds the site's settings, and
    /// enforces its policy as for `list`. The log is open after that. Throws gpucontainer::Error:
    /// usage, permission.
    void settle_host();
    /// The same for a call that sets a container up, which a restricted one may not.
    void settle_request();
    /// Does what --load-kmods asks for. What fails is told in the log, as the driver may be there
    /// all the same.
    void load_kernel_modules() const;
    /// Says in one line what went wrong.
    void fail(const gpucontainer::Error& error) const;

private:
    void settle(const std::vector<std::string>& words);
    void open_log();

    std::vector<std::string> typed_;
    std::string log_of_variable_;
    std::unique_ptr<CLI::App> app_; ///< Its options are those of `options`.
    Origins origins_;
};

/// The commands. They throw gpucontainer::Error.
void front_info(FrontSession& session);
void front_list(FrontSession& session);
void front_configure(FrontSession& session);

} // namespace gpuctr_cli

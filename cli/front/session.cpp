// SPDX-License-Identifier: MIT
#include "front/session.hpp"

#include "commands/commands.hpp"
#include "front/translation.hpp"
#include "output/format.hpp"
#include "restricted/policy.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

FrontSession::FrontSession(int argc, char** argv)
    : typed_(argv, argv + argc), // NOLINT(*-pointer-arithmetic)
      log_of_variable_(trusted_variable("NVC_DEBUG_FILE"))
{
    (void)::clearenv();
}

void FrontSession::settle_host()
{
    app_ = std::make_unique<CLI::App>("", "list");
    options.host.add_to(*app_);
    settle(host_words(arguments));
}

void FrontSession::settle_request()
{
    app_ = std::make_unique<CLI::App>("", "configure");
    options.add_to(*app_);
    settle(request_words(arguments));
}

void FrontSession::settle(const std::vector<std::string>& words)
{
    try {
        std::vector<std::string> last_first(words.rbegin(), words.rend());
        app_->parse(last_first);
    } catch (const CLI::ParseError& error) {
        throw gpucontainer::Error(GPUCTR_E_USAGE, error.what(), "", 0);
    }
    const Messages messages(streams, Verbosity::normal);
    settle_options({*app_, false, false, ""}, keys_of_command, messages, origins_);
    open_log(); // not before: the policy may make this process an ordinary user's
    log.note(formatted("in options of gpuctr-setup: {}", fmt::join(words, " ")));
}

void FrontSession::open_log()
{
    if (!arguments.debug.empty())
        log.open(arguments.debug);
    else if (!log_of_variable_.empty())
        log.open_by_variable(log_of_variable_);
    log.note(formatted("{}: {}", gpucontainer::version(), fmt::join(typed_, " ")));
    for (const std::string& option : arguments.unneeded)
        log.note(option + ": not needed");
}

void FrontSession::load_kernel_modules() const
{
    if (!arguments.loads_kmods)
        return;
    const auto& capabilities = arguments.capabilities;
    const auto has = [&](const char* name) {
        return std::find(capabilities.begin(), capabilities.end(), name) != capabilities.end();
    };
    gpucontainer::LoadOptions what;
    what.vendors = options.host.vendors;
    what.display = has("display") || has("graphics");
    what.report = [&](const gpucontainer::Finding& finding) { log.note(finding.message()); };
    try {
        gpucontainer::load_kernel_modules(what);
    } catch (const gpucontainer::Error& error) {
        log.note(formatted("--load-kmods: {}", error.what()));
    }
}

void FrontSession::fail(const gpucontainer::Error& error) const
{
    log.fail(phase, {error.status(), origins_.explain(error), error.hint(), error.os_error()});
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "front/front.hpp"

#include "front/session.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "process/standard_descriptors.hpp"

#include <cstdlib>
#include <exception>
#include <gpucontainer/gpucontainer.hpp>
#include <string_view>

namespace gpuctr_cli {
namespace {

void carry_out(FrontSession& session)
{
    using Action = FrontArguments::Action;
    switch (session.arguments.action) {
    case Action::help:
        print(session.streams.out, "{}", front_help());
        break;
    case Action::version:
        print(session.streams.out, "cli-version: {0}\nlib-version: {0}\n", gpucontainer::version());
        break;
    case Action::info:
        front_info(session);
        break;
    case Action::list:
        front_list(session);
        break;
    case Action::configure:
        front_configure(session);
        break;
    }
}

} // namespace

bool is_called_as_front(const char* name)
{
    const std::string_view path = name != nullptr ? name : "";
    return path.substr(path.rfind('/') + 1) == "nvidia-container-cli";
}

int run_front(int argc, char** argv)
{
    constexpr int failed = 1; // callers know no other
    FrontSession session(argc, argv);
    try {
        fill_standard_descriptors();
        ignore_output_signals();
        give_up_raised_privileges();
        session.arguments = parse_front(argc, argv);
        carry_out(session);
        finish_results(session.streams.out);
        return EXIT_SUCCESS;
    } catch (const gpucontainer::Error& error) {
        session.fail(error);
    } catch (const std::exception& error) {
        session.fail({GPUCTR_E_INTERNAL, formatted("internal error: {}", error.what()), "", 0});
    }
    return failed;
}

} // namespace gpuctr_cli

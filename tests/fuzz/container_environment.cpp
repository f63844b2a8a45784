// SPDX-License-Identifier: MIT
#include "import/container_environment.hpp"
#include "import/shell_script.hpp"
#include "plan/container_request.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using imports::Variables;

constexpr std::size_t long_message = 4096;

bool is_line(std::string_view text)
{
    return text.size() <= long_message && std::ranges::none_of(text, base::is_control);
}

void check(const Variables& variables)
{
    for (const auto& [name, value] : variables) {
        demand(imports::is_variable_name(name), "a variable has a name");
        demand(value.size() <= imports::longest_value && value.find('\0') == std::string::npos,
               "its value fits into an environment");
    }
}

/// Four GPUs, one of which may not be used.
model::DriverStack host()
{
    model::DriverStack driver;
    driver.vendor = "nvidia";
    driver.vendor_name = "NVIDIA";
    driver.cdi_kind = "nvidia.com/gpu";
    driver.visible_devices = {{"NVIDIA_VISIBLE_DEVICES", model::VisibleDevices::Reader::toolkit,
                               model::VisibleDevices::Inside::nothing}};
    for (unsigned i = 0; i < 4; ++i) {
        model::Gpu gpu;
        gpu.index = i;
        gpu.uuid = "GPU-aaaaaaa" + std::to_string(i) + "-0000-0000-0000-000000000000";
        driver.gpus.push_back(std::move(gpu));
    }
    return driver;
}

/// What the variables ask for.
void check_request(const Variables& variables)
{
    static const std::array drivers = {host()};
    plan::Request request;
    request.container = variables;
    request.required = {"nvidia"};
    std::vector<plan::Selection> granted(1);
    granted.front().gpus = {0, 2, 3};
    model::Findings findings;
    const auto asked = plan::narrow_to_asked(drivers, request, granted, findings);
    demand(asked || is_line(asked.error().message()), "an error is one line");
    demand(!asked || std::ranges::includes(granted.front().gpus, asked->front().gpus),
           "no GPU is added");
    const std::array used = {plan::UsedDriver{"nvidia", "580.1", {}, {}, true}};
    demand(plan::parse_capabilities(plan::asked_capabilities(used, request, findings)).has_value(),
           "capabilities are those that are known");
    for (const model::Finding& finding : findings)
        demand(is_line(finding.message()), "a finding is one line");
    if (const auto requirements = plan::asked_requirements(used, request); !requirements)
        demand(requirements.error().code() == Errc::usage
                   && is_line(requirements.error().message()),
               "a requirement that cannot be read is named");
}

} // namespace

/// A file of an image, or a configuration of a runtime.
void run(std::string_view input)
{
    if (const auto read = imports::read_text(input)) {
        check(read->variables);
        check_request(read->variables);
        for (const model::Finding& finding : read->findings)
            demand(is_line(finding.message()), "what is not known is one line");
    } else {
        demand(read.error().code() == Errc::usage, "it is the text that is wrong");
    }
    Variables variables = {{"A", "1"}};
    demand(is_line(imports::read_script(input, variables)), "lines are named in one line");
    check(variables);
    check_request(variables);
    demand(is_line(imports::read_lines(input, variables)), "lines are named in one line");
    check(variables);
}

} // namespace gpucontainer::fuzz

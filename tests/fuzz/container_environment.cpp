// SPDX-License-Identifier: MIT
#include "import/container_environment.hpp"
#include "import/shell_script.hpp"
#include "plan/container_request.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

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

/// Four GPUs. The last one has two instances.
model::DriverStack host(model::VisibleDevices variable)
{
    model::DriverStack driver;
    driver.vendor = "nvidia";
    driver.vendor_name = "NVIDIA";
    driver.cdi_kind = "nvidia.com/gpu";
    driver.visible_devices = {std::move(variable)};
    for (unsigned i = 0; i < 4; ++i) {
        model::Gpu gpu;
        gpu.index = i;
        gpu.uuid = "GPU-aaaaaaa" + std::to_string(i) + "-0000-0000-0000-000000000000";
        driver.gpus.push_back(std::move(gpu));
    }
    for (unsigned i = 0; i < 2; ++i) {
        model::Gpu instance;
        instance.index = 4 + i;
        instance.parent = 3;
        instance.names = {"3:gi" + std::to_string(i) + ":ci0"};
        driver.gpus.push_back(std::move(instance));
    }
    return driver;
}

/// What is left of GPUs, one of which may not be used, and an instance neither.
void check_choice(const model::DriverStack& driver, const plan::Request& request,
                  model::Findings& findings)
{
    std::vector<plan::Selection> granted(1);
    granted.front().gpus = {0, 2, 3, 4};
    const auto asked = plan::narrow_to_asked({&driver, 1}, request, granted, findings);
    if (!asked) {
        demand(is_line(asked.error().message()), "an error is one line");
        return;
    }
    const auto& gpus = asked->front().gpus;
    demand(std::ranges::includes(granted.front().gpus, gpus), "no GPU is added");
    demand(plan::without_lone_parents(driver, gpus) == gpus, "each GPU can compute");
}

/// What the variables ask for.
void check_request(const Variables& variables)
{
    using model::VisibleDevices;
    static const std::array drivers = {
        host({"NVIDIA_VISIBLE_DEVICES", VisibleDevices::Reader::toolkit,
              VisibleDevices::Inside::nothing}),
        host({"NVIDIA_VISIBLE_DEVICES", VisibleDevices::Reader::runtime,
              VisibleDevices::Inside::nothing})};
    plan::Request request;
    request.container = variables;
    request.required = {"nvidia"};
    model::Findings findings;
    for (const model::DriverStack& driver : drivers)
        check_choice(driver, request, findings);
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

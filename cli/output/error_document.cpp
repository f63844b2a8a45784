// SPDX-License-Identifier: MIT
#include "output/error_document.hpp"

#include "output/exit_code.hpp"
#include "output/findings.hpp"
#include "output/json.hpp"

#include <cstring>

namespace gpuctr_cli {
namespace {

const char* name_of(gpuctr_status status)
{
    switch (status) {
    case GPUCTR_E_USAGE:
        return "usage";
    case GPUCTR_E_NO_DEVICE:
        return "no_device";
    case GPUCTR_E_DRIVER:
        return "driver";
    case GPUCTR_E_ROOTFS:
        return "rootfs";
    case GPUCTR_E_PERMISSION:
        return "permission";
    case GPUCTR_E_REQUIREMENT:
        return "requirement";
    case GPUCTR_E_APPLY:
        return "apply";
    case GPUCTR_E_EXISTS:
        return "exists";
    case GPUCTR_OK:
    case GPUCTR_E_INTERNAL:
        break;
    }
    return "internal";
}

const char* code_of(const gpucontainer::Error& error, int exit_status)
{
    if (exit_status == ExitCode::not_executable)
        return "not_executable";
    return exit_status == ExitCode::not_found ? "not_found" : name_of(error.status());
}

Json os_error(int number)
{
    const char* const name = number == 0 ? nullptr : ::strerrorname_np(number);
    return json_string_or_null(name != nullptr ? name : "");
}

Json finding(const Message& message)
{
    const std::string code = message.error ? name_of(message.error->status()) : message.code;
    return json_object({{"code", json_string_or_null(code)},
                        {"severity", json_string(name(message.severity))},
                        {"object", json_string_or_null(message.object)},
                        {"message", json_string(message.text)},
                        {"hint", json_string_or_null(message.hint)}});
}

} // namespace

std::string error_document(const gpucontainer::Error& error, const std::string& message,
                           const std::string& option, int exit_status,
                           const std::vector<Message>& others)
{
    std::vector<Json> findings;
    findings.reserve(others.size());
    for (const Message& other : others)
        findings.push_back(finding(other));
    const Json document =
        json_object({{"schema", json_string("gpucontainer/error/1")},
                     {"code", json_string(code_of(error, exit_status))},
                     {"exit_status", std::to_string(exit_status)},
                     {"message", json_string(message)},
                     {"argument", json_string_or_null(option.empty() ? "" : "--" + option)},
                     {"object", json_string_or_null(error.object())},
                     {"os_error", os_error(error.os_error())},
                     {"hint", json_string_or_null(error.hint())},
                     {"findings", json_array(findings)}});
    return json_on_one_line(document) + "\n";
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "front/translation.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

/// Parts of lists, without empty ones.
std::vector<std::string> parts_of(const std::vector<std::string>& lists)
{
    std::vector<std::string> parts;
    for (const std::string& list : lists) {
        std::istringstream stream(list);
        for (std::string part; std::getline(stream, part, ',');)
            if (!part.empty())
                parts.push_back(part);
    }
    return parts;
}

bool is_all(const std::string& word)
{
    constexpr std::string_view all = "all";
    return std::equal(word.begin(), word.end(), all.begin(), all.end(), [](char left, char right) {
        return std::tolower(static_cast<unsigned char>(left)) == right;
    });
}

/// Instances of a GPU are named by UUID, or as GPU:INSTANCE.
bool is_instance(const std::string& word)
{
    return word.starts_with("MIG-")
           || (std::count(word.begin(), word.end(), ':') == 1
               && word.find_first_not_of("0123456789:") == std::string::npos);
}

void refuse_rights_with_instances(const FrontArguments& arguments)
{
    if (!arguments.mig_config && !arguments.mig_monitor)
        return;
    for (const std::string& device : parts_of(arguments.devices))
        if (is_instance(device))
            throw gpucontainer::Error(GPUCTR_E_USAGE,
                                      formatted("--{}: not together with the MIG instance {}",
                                                arguments.mig_config ? "mig-config" : "mig-monitor",
                                                device),
                                      "these rights are for whole GPUs", 0);
}

/// With neither of them, a container gets device nodes alone.
std::vector<std::string> capabilities_of(const FrontArguments& arguments)
{
    std::vector<std::string> parts = arguments.capabilities;
    if (!parts.empty() && arguments.compat32)
        parts.emplace_back("compat32");
    if (!parts.empty() && arguments.firmware)
        parts.emplace_back("firmware");
    return parts;
}

std::vector<std::string> extras_of(const FrontArguments& arguments)
{
    std::vector<std::string> extras;
    if (arguments.mig_config)
        extras.emplace_back("mig-config");
    if (arguments.mig_monitor)
        extras.emplace_back("mig-monitor");
    for (const std::string& channel : channels_of(arguments))
        extras.push_back("imex-channel:" + channel);
    if (!arguments.persistenced || arguments.capabilities.empty())
        extras.emplace_back("no-persistenced");
    return extras;
}

} // namespace

std::vector<std::string> channels_of(const FrontArguments& arguments)
{
    return parts_of(arguments.channels);
}

std::string device_words(const FrontArguments& arguments)
{
    const std::vector<std::string> devices = parts_of(arguments.devices);
    if (devices.empty())
        return "none";
    if (std::any_of(devices.begin(), devices.end(), is_all))
        return "auto";
    return formatted("{}", fmt::join(devices, ","));
}

std::vector<std::string> host_words(const FrontArguments& arguments)
{
    std::vector<std::string> words = {"--nv"};
    if (arguments.root == "/" || arguments.root.empty())
        return words;
    words.push_back("--driver-root=" + arguments.root);
    // A driver's container may have its nodes, or leave them to the host.
    if (::access((arguments.root + "/dev/nvidiactl").c_str(), F_OK) == 0)
        words.push_back("--dev-root=" + arguments.root);
    return words;
}

std::vector<std::string> request_words(const FrontArguments& arguments)
{
    refuse_rights_with_instances(arguments);
    std::vector<std::string> words = host_words(arguments);
    words.push_back("--device=" + device_words(arguments));
    const std::vector<std::string> capabilities = capabilities_of(arguments);
    words.push_back(formatted(
        "--driver-capabilities={}",
        capabilities.empty() ? "utility" : formatted("{}", fmt::join(capabilities, ","))));
    if (capabilities.empty())
        words.emplace_back("--vendor-libs=none");
    for (const std::string& extra : extras_of(arguments))
        words.push_back("--extras=" + extra);
    for (const std::string& requirement : arguments.requirements)
        words.push_back("--require=" + requirement);
    if (!arguments.compat)
        words.emplace_back("--cuda-compat=never");
    return words;
}

} // namespace gpuctr_cli

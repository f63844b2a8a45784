// SPDX-License-Identifier: MIT
#include "export/mounts.hpp"

#include "base/text.hpp"

#include <utility>

namespace gpucontainer::exports {
namespace {

std::vector<std::string> mount_options(const plan::Item& item)
{
    std::vector<std::string> options;
    for (const std::string_view option : base::split(item.options(), ','))
        if (!option.empty())
            options.emplace_back(option);
    options.emplace_back(item.is_directory() ? "rbind" : "bind");
    options.emplace_back("rprivate");
    return options;
}

} // namespace

std::optional<GivenMount> mount_of(const plan::Item& item, const std::string& files_directory)
{
    if (const auto* const file = item.as<plan::GeneratedFile>()) {
        std::string path = files_directory + item.target;
        cdi::Mount mount = {path, item.target, {"ro", "nosuid", "nodev", "bind", "rprivate"}};
        return GivenMount{std::move(mount), cdi::HostFile{std::move(path), file->content}};
    }
    if (item.as<plan::Bind>() != nullptr || item.as<plan::Shared>() != nullptr)
        return GivenMount{cdi::Mount{std::string(item.source()), item.target, mount_options(item)},
                          {}};
    // Who starts the container makes directories.
    return std::nullopt;
}

} // namespace gpucontainer::exports

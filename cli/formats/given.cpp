// SPDX-License-Identifier: MIT
#include "formats/given.hpp"

#include "formats/quoting.hpp"
#include "output/format.hpp"
#include "syscall/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

using gpucontainer::Host;
using gpucontainer::Item;
using gpucontainer::Plan;

/// Whether a regular file has exactly this content.
bool has_content(const std::string& path, std::string_view content)
{
    const gpucontainer::syscall::UniqueFd fd(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct ::stat status = {};
    bool same = fd && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)
                && static_cast<std::size_t>(status.st_size) == content.size();
    std::array<char, 4096> part = {};
    while (same && !content.empty()) {
        const ssize_t count = ::read(fd.get(), part.data(), std::min(part.size(), content.size()));
        same = count > 0
               && content.starts_with(
                   {part.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
        if (same)
            content.remove_prefix(static_cast<std::size_t>(count));
    }
    return same;
}

/// One directory for each kind of devices, as specifications of CDI have it.
std::string kept_file(const Item& item, const Host& host, const std::string& files_directory)
{
    std::string kind;
    for (const auto driver : host.drivers())
        if (driver.vendor() == item.vendor())
            kind = driver.cdi_kind();
    std::replace(kind.begin(), kind.end(), '/', '-');
    return formatted("{}/{}{}", files_directory, kind, item.target());
}

/// A file of the host with the bytes of a generated one; "" if there is none.
std::string same_file(const Item& item, const Host& host, const std::string& files_directory)
{
    for (const std::string& path :
         {kept_file(item, host, files_directory), std::string(item.target())})
        if (has_content(path, *item.content()))
            return path;
    return "";
}

/// So that none is taken for something else, such as an option.
template <typename What>
void check_paths(const What& given)
{
    for (const std::string& path : {given.source, given.target})
        if (!path.starts_with('/'))
            throw gpucontainer::Error(GPUCTR_E_USAGE, formatted("{}: not an absolute path", path),
                                      "", 0, path);
}

GivenNode node_of(const Item& item, const Host& host)
{
    GivenNode node = {std::string(item.source()), std::string(item.target()), item.major_number(),
                      item.minor_number()};
    for (const auto driver : host.drivers())
        for (const auto known : driver.nodes())
            if (driver.vendor() == item.vendor() && known.container_path() == item.target()) {
                node.mode = known.mode() & 0777U;
                node.gid = known.gid();
            }
    return node;
}

GivenVariable variable_of(const gpucontainer::Variable& variable)
{
    GivenVariable given = {std::string(variable.name()), std::nullopt};
    if (variable.action() == "set")
        given.value = variable.value();
    else if (variable.action() != "unset")
        throw gpucontainer::Error(
            GPUCTR_E_INTERNAL,
            formatted("{}: {} is not known here", variable.name(), variable.action()), "", 0);
    return given;
}

bool has_others(const Plan& plan, const Host& host)
{
    std::size_t chosen = 0;
    std::size_t all = 0;
    for (const auto driver : plan.drivers())
        chosen += driver.gpus().size();
    for (const auto driver : host.drivers())
        all += driver.gpus().size();
    return chosen < all;
}

} // namespace

bool has_vendor(const Given& given, const char* vendor)
{
    return std::find(given.vendors.begin(), given.vendors.end(), vendor) != given.vendors.end();
}

Given given_by(const Plan& plan, const Host& host, const std::string& files_directory,
               const Messages& messages)
{
    Given given;
    std::vector<std::string> missing;
    for (const Item item : plan.items()) {
        const std::string_view kind = item.kind();
        if (kind == "device") {
            given.nodes.push_back(node_of(item, host));
        } else if (kind == "file") {
            std::string source = same_file(item, host, files_directory);
            if (source.empty())
                missing.emplace_back(item.target());
            else
                given.files.push_back({std::move(source), std::string(item.target())});
        } else if (kind == "bind") {
            given.files.push_back({std::string(item.source()), std::string(item.target()),
                                   item.is_directory(),
                                   item.options().find("noexec") == std::string_view::npos});
        } // who starts the container makes directories
    }
    std::stable_sort(given.files.begin(), given.files.end(),
                     [](const auto& a, const auto& b) { return a.target < b.target; });
    for (const GivenFile& file : given.files)
        check_paths(file);
    for (const GivenNode& node : given.nodes)
        check_paths(node);
    for (const auto variable : plan.variables())
        given.variables.push_back(variable_of(variable));
    given.groups = plan.groups();
    for (const auto driver : plan.drivers())
        given.vendors.emplace_back(driver.vendor());
    given.some_gpus = has_others(plan, host);
    if (!missing.empty())
        messages.warn(formatted("left out, because this host has no such files: {}: {}",
                                fmt::join(missing, ", "), how_to_make_files(files_directory)));
    return given;
}

std::vector<std::string> missing_files(const Plan& plan, const Host& host,
                                       const std::string& files_directory)
{
    std::vector<std::string> missing;
    for (const Item item : plan.items())
        if (item.kind() == "file") {
            std::string path = kept_file(item, host, files_directory);
            if (!has_content(path, *item.content()))
                missing.push_back(std::move(path));
        }
    return missing;
}

std::string how_to_make_files(const std::string& files_directory)
{
    const std::string directory = files_directory == usual_files_directory
                                      ? ""
                                      : " --files-dir " + shell_word(files_directory);
    return formatted("`gpuctr-setup cdi generate --install{}` with the same driver capabilities "
                     "makes them",
                     directory);
}

} // namespace gpuctr_cli

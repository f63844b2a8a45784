// SPDX-License-Identifier: MIT
#include "host/kernel_files.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::host {
namespace {

Error unreadable(int os_error, const std::string& path)
{
    return Error::from_errno(os_error, path, Errc::driver).with_object(path);
}

/// Whether it is a version such as "1.17.0-28a11ca", or a kernel's release.
bool is_version(std::string_view text)
{
    constexpr std::size_t longest = 128;
    return !text.empty() && text.size() <= longest
           && base::to_lower(text).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_+~")
                  == std::string::npos;
}

} // namespace

Result<std::optional<std::string>> read_value(const std::string& path)
{
    const auto text = base::read_file(path);
    if (text)
        return std::optional(std::string(base::trim(*text)));
    if (base::leaves_open(text.error().os_error()))
        return unreadable(text.error().os_error(), path);
    return std::optional<std::string>();
}

Result<std::optional<std::string>> read_line(const std::string& path)
{
    GPUCTR_TRY(auto text, read_value(path));
    if (text && std::ranges::any_of(*text, base::is_control))
        text.reset();
    return text;
}

Result<std::string> read_link_name(const std::string& path)
{
    const auto target = base::read_link(AT_FDCWD, path);
    if (target)
        return std::string(base::name_of(*target));
    if (base::leaves_open(target.error().os_error()))
        return unreadable(target.error().os_error(), path);
    return std::string();
}

Result<std::optional<std::string>> loaded_module_version(const std::string& system_root,
                                                         const std::string& module)
{
    const std::string directory = system_root + "/sys/module/" + module;
    struct stat status = {};
    if (::stat(directory.c_str(), &status) != 0) {
        if (base::leaves_open(errno))
            return unreadable(errno, directory);
        return std::optional<std::string>();
    }
    GPUCTR_TRY(auto text, read_value(directory + "/version"));
    if (text && is_version(*text))
        return text;
    return kernel_release(system_root);
}

Result<std::optional<std::string>> module_of_driver(const std::string& system_root,
                                                    const std::string& driver)
{
    for (const char* const bus : {"pci", "platform", "auxiliary"}) {
        const std::string directory =
            base::format("{}/sys/bus/{}/drivers/{}", system_root, bus, driver);
        struct stat status = {};
        if (::stat(directory.c_str(), &status) == 0) {
            GPUCTR_TRY(std::string module, read_link_name(directory + "/module"));
            return std::optional(std::move(module));
        }
        if (base::leaves_open(errno))
            return unreadable(errno, directory);
    }
    return std::optional<std::string>();
}

Result<std::optional<std::string>> kernel_release(const std::string& system_root)
{
    const std::string path = system_root + "/proc/sys/kernel/osrelease";
    GPUCTR_TRY(auto text, read_value(path));
    if (text && is_version(*text))
        return text;
    return Error(Errc::driver, path + ": no version in it").with_object(path);
}

} // namespace gpucontainer::host

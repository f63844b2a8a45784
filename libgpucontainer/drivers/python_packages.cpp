// SPDX-License-Identifier: MIT
#include "drivers/python_packages.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::drivers {
namespace {

using rootfs::Entry;
using rootfs::EntryType;

constexpr std::size_t most_prefixes = 32;
constexpr std::size_t most_directories = 64;
constexpr std::size_t most_names = 20'000;
constexpr std::size_t longest_path = 1024;
constexpr unsigned newest_minor = 20; ///< Of versions 3.x that are looked for.
constexpr unsigned oldest_minor = 6;

constexpr std::array<std::string_view, 3> variables = {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME"};
constexpr std::array<std::string_view, 6> usual_prefixes = {
    "/usr/local", "/usr", "/opt/conda", "/opt/venv", "/root/miniconda3", "/opt/miniconda3"};

std::string_view value_of(const ContainerToCheck& container, std::string_view name)
{
    const auto found = container.environment.find(std::string(name));
    return found == container.environment.end() ? std::string_view() : found->second;
}

/// A path with one meaning, which can be looked up.
bool is_plain(std::string_view path)
{
    return path.size() > 1 && path.size() <= longest_path && path.starts_with('/')
           && std::ranges::none_of(path, base::is_control);
}

std::string_view without_slashes(std::string_view path)
{
    while (path.size() > 1 && path.ends_with('/'))
        path.remove_suffix(1);
    return path;
}

/// Each directory once, whatever its names are.
class Directories {
public:
    explicit Directories(const rootfs::View& view) : view_(view) {}

    void add(const std::string& path)
    {
        if (found_.size() == most_directories)
            return;
        const Entry entry = view_.resolve(path);
        const bool again = std::ranges::any_of(
            entries_, [&](const Entry& other) { return other.same_file(entry); });
        if (entry.type != EntryType::directory || again)
            return;
        entries_.push_back(entry);
        if (auto names = view_.list(path, most_names))
            found_.push_back({path, *std::move(names)});
    }

    std::vector<PackageDirectory> take() { return std::move(found_); }

private:
    const rootfs::View& view_;
    std::vector<Entry> entries_;
    std::vector<PackageDirectory> found_;
};

/// Names of an interpreter's directory; the first is for Debian's packages, whatever the version.
std::vector<std::string> versioned_names()
{
    std::vector<std::string> names = {"python3"};
    for (unsigned minor = newest_minor; minor >= oldest_minor; --minor)
        names.push_back(base::format("python3.{}", minor));
    return names;
}

} // namespace

std::vector<std::string> program_prefixes(const ContainerToCheck& container)
{
    std::vector<std::string> prefixes;
    const auto add = [&](std::string_view path) {
        const std::string_view prefix = without_slashes(path);
        if (is_plain(prefix) && prefixes.size() < most_prefixes
            && std::ranges::find(prefixes, prefix) == prefixes.end())
            prefixes.emplace_back(prefix);
    };
    for (const std::string_view variable : variables)
        add(value_of(container, variable));
    // A script and its interpreter, which may be those of an environment.
    for (const std::string& path : container.loaded)
        if (base::name_of(base::directory_of(path)) == "bin")
            add(base::directory_of(base::directory_of(path)));
    for (const std::string_view directory : base::split(value_of(container, "PATH"), ':'))
        if (const auto path = without_slashes(directory); base::name_of(path) == "bin")
            add(base::directory_of(path));
    for (const std::string_view prefix : usual_prefixes)
        add(prefix);
    return prefixes;
}

std::vector<PackageDirectory> package_directories(const ContainerToCheck& container)
{
    Directories directories(container.view);
    std::size_t searched = 0;
    for (const std::string_view path : base::split(value_of(container, "PYTHONPATH"), ':'))
        if (is_plain(path) && ++searched <= most_directories)
            directories.add(std::string(without_slashes(path)));
    const std::vector<std::string> versions = versioned_names();
    for (const std::string& prefix : program_prefixes(container))
        for (const std::string_view libraries : {"lib", "lib64"}) {
            const std::string above = base::format("{}/{}", prefix, libraries);
            for (const std::string& name : container.view.present(above, versions))
                for (const std::string_view packages : {"site-packages", "dist-packages"})
                    directories.add(base::format("{}/{}/{}", above, name, packages));
        }
    return directories.take();
}

bool loads_from(const ContainerToCheck& container, std::string_view path)
{
    return std::ranges::any_of(
        container.loaded, [&](const std::string& loaded) { return base::is_below(loaded, path); });
}

std::string_view installed_version(std::string_view name, std::string_view package)
{
    constexpr std::string_view ending = ".dist-info";
    if (!name.starts_with(package) || !name.ends_with(ending))
        return {};
    name.remove_prefix(package.size());
    if (!name.starts_with('-') || name.size() <= ending.size() + 1)
        return {};
    name.remove_prefix(1);
    name.remove_suffix(ending.size());
    return name.find('-') == std::string_view::npos ? name : std::string_view();
}

} // namespace gpucontainer::drivers

// SPDX-License-Identifier: MIT
#include "detect/fingerprint.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/described_maker.hpp"
#include "drivers/registry.hpp"
#include "drivers/wsl.hpp"
#include "host/node_access.hpp"
#include "search/manifest.hpp"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace gpucontainer::detect {

using drivers::KernelPlace;
using drivers::Vendor;
using model::DeviceNode;
using model::DriverStack;

namespace {

constexpr std::string_view missing = "missing";
constexpr std::string_view unsettled = "changed while it was looked at";

struct stat status_of(const std::string& path, int flags = AT_SYMLINK_NOFOLLOW)
{
    struct stat status = {};
    if (::fstatat(AT_FDCWD, path.c_str(), &status, flags) != 0)
        status = {};
    return status;
}

/// When a detection took place.
struct Period {
    timespec begin;
    time_t end;

    static Period since(timespec begin)
    {
        timespec now = {};
        (void)::clock_gettime(CLOCK_REALTIME, &now);
        return {begin, now.tv_sec + 1}; // includes changes that follow immediately
    }

    /// A time in the future, from a clock that was wrong, is ignored. Some file systems have times
    /// in seconds.
    bool saw_change(const struct stat& status) const
    {
        const timespec& change = status.st_ctim;
        if (change.tv_sec != begin.tv_sec || change.tv_nsec == 0)
            return change.tv_sec >= begin.tv_sec && change.tv_sec <= end;
        return change.tv_nsec >= begin.tv_nsec;
    }
};

/// The ctime changes with content, owner and permissions, and nobody can set it back.
std::string identity(const struct stat& status)
{
    if (status.st_ino == 0)
        return std::string(missing);
    return base::format("{}:{} {:o} {}.{:09}", status.st_dev, status.st_ino, status.st_mode,
                        status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

/// All names of directories below one. Those of the kernel have a link from each that is in them,
/// so that one without needs not be read.
std::string tree_state(const std::string& path, unsigned depth = 0)
{
    constexpr unsigned deepest = 8;
    const struct stat status = status_of(path);
    if (!S_ISDIR(status.st_mode) || status.st_nlink == 2 || depth == deepest)
        return "";
    const auto names = base::list_directory(AT_FDCWD, path);
    std::string state;
    for (const std::string& name : names ? *names : std::vector<std::string>())
        state +=
            base::format("{}({})", name, tree_state(base::format("{}/{}", path, name), depth + 1));
    return state;
}

std::string state_of(KernelPlace::How how, const std::string& path)
{
    switch (how) {
    case KernelPlace::How::content: {
        const auto text = base::read_file(path);
        return text ? std::string(base::trim(*text)) : std::string(missing);
    }
    case KernelPlace::How::names: {
        const auto names = base::list_directory(AT_FDCWD, path);
        return names ? base::joined(*names, " ") : std::string(missing);
    }
    case KernelPlace::How::tree:
        return tree_state(path);
    case KernelPlace::How::inode:
        return std::to_string(status_of(path).st_ino);
    }
    return "";
}

/// Marks of the makers that are described by data.
std::vector<Mark> described_marks(const std::string& system_root, std::span<const Vendor> vendors)
{
    std::vector<Mark> marks;
    for (const Vendor& vendor : vendors)
        if (vendor.maker != nullptr)
            for (drivers::DescribedPlace& place : drivers::kernel_places_of(*vendor.maker)) {
                std::string state = state_of(place.how, system_root + place.path);
                marks.push_back({std::move(place.path), std::move(state)});
            }
    return marks;
}

std::vector<Mark> kernel_marks(const std::string& system_root)
{
    std::vector<Mark> marks;
    const auto add = [&](const KernelPlace& place) {
        const std::string path(place.path);
        marks.push_back({path, state_of(place.how, system_root + path)});
    };
    add({"/proc/sys/kernel/random/boot_id", KernelPlace::How::content});
    add(drivers::wsl::kernel_place);
    for (const Vendor& vendor : drivers::vendors())
        std::ranges::for_each(vendor.kernel_places, add);
    std::ranges::move(described_marks(system_root, drivers::vendors()), std::back_inserter(marks));
    return marks;
}

/// The present state of a mark after those of the drivers: a site's file, or a place of the kernel
/// that a site's file describes.
std::string state_now(const std::string& system_root, const std::string& path)
{
    return drivers::is_kernel_place(path)
               ? state_of(drivers::how_place_counts(path), system_root + path)
               : identity(status_of(path, 0));
}

/// Reads the state of places. With the period of a detection, it also checks that they did not
/// change meanwhile.
class Marks {
public:
    Marks(std::string system_root, std::vector<Mark> first, std::optional<Period> period)
        : system_root_(std::move(system_root)), period_(period), marks_(std::move(first))
    {
    }

    void add_drivers(std::span<const DriverStack> drivers)
    {
        std::ranges::for_each(drivers, [this](const DriverStack& driver) { add_driver(driver); });
    }

    /// A place that may be missing.
    void add_optional(const std::string& path, int flags)
    {
        const struct stat status = status_of(path, flags);
        const bool was_removed =
            period_ && status.st_ino == 0
            && period_->saw_change(status_of(std::string(base::directory_of(path)), 0));
        add(path, was_removed ? std::string(unsettled) : settled_state(status));
    }

    std::vector<Mark> take() && { return std::move(marks_); }

private:
    void add_driver(const DriverStack& driver)
    {
        std::set<std::string> directories;
        for (const model::DriverFile& file : driver.files)
            directories.emplace(base::directory_of(file.path));
        for (const std::string& directory : directories)
            add(directory, detected_state(status_of(directory)));
        // A library that is not installed yet may appear there.
        if (driver.optional_files)
            for (const std::string& directory : driver.image_directories)
                if (!directories.contains(directory))
                    add_optional((driver.root == "/" ? "" : driver.root) + directory, 0);
        if (driver.optional_files)
            add_root_places(driver);
        add_manifests(driver);
        add_optional((driver.root == "/" ? "" : driver.root) + "/etc/ld.so.cache",
                     AT_SYMLINK_NOFOLLOW);
        for (const DeviceNode& node : driver.nodes)
            add_node(node, true);
        for (const DeviceNode& node : driver.missing_nodes)
            add_node(node, false);
    }

    /// Manifests of the host become part of the driver's files. A file may change in place, and
    /// its directory gets another one.
    void add_manifests(const DriverStack& driver)
    {
        const std::string root = driver.root == "/" ? "" : driver.root;
        const std::string prefix(base::directory_of(driver.library_directory));
        std::vector<std::string> prefixes;
        if (prefix.size() > root.size() && prefix.starts_with(root)
            && !base::is_below("/usr/lib", prefix.substr(root.size())))
            prefixes.push_back(prefix.substr(root.size()));
        const elf::Machine* const machine = elf::find_machine(driver.machine);
        for (const search::ManifestPlace& place : search::manifest_places(
                 driver.files, prefixes, machine == nullptr ? elf::own_machine() : *machine)) {
            const std::string directory = root + place.directory;
            add_optional(directory, 0);
            for (const std::string& name : place.names)
                if (const std::string path = base::format("{}/{}", directory, name);
                    status_of(path, 0).st_ino != 0)
                    add_optional(path, 0);
        }
    }

    void add_root_places(const DriverStack& driver)
    {
        const Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (vendor == nullptr)
            return;
        for (const std::string_view place : vendor->root_places) {
            const std::string path =
                base::format("{}{}", driver.root == "/" ? "" : driver.root, place);
            add_optional(path, 0);
            if (const auto names = base::list_directory(AT_FDCWD, path))
                for (const std::string& name : *names)
                    add_optional(base::format("{}/{}", path, name), 0);
        }
    }

    std::string settled_state(const struct stat& status) const
    {
        return std::string(period_ && period_->saw_change(status) ? unsettled : identity(status));
    }

    /// State of a place that detection found, so it is not missing.
    std::string detected_state(const struct stat& status) const
    {
        return period_ && status.st_ino == 0 ? std::string(unsettled) : settled_state(status);
    }

    void add(const std::string& path, std::string state)
    {
        marks_.push_back({path, std::move(state)});
    }

    /// The device cgroup may change while the node stays the same. For a node that detection
    /// found, its result counts.
    void add_node(const DeviceNode& node, bool was_found)
    {
        const std::string path = system_root_ + node.host_path;
        const bool accessible =
            period_ && was_found ? node.accessible : host::obstacle_to_opening(path).text.empty();
        const struct stat status = status_of(path);
        add(node.host_path, (was_found ? detected_state(status) : settled_state(status))
                                + (accessible ? " rw" : ""));
    }

    std::string system_root_;
    std::optional<Period> period_;
    std::vector<Mark> marks_;
};

/// Whether the UUID may become known later. A GPU on no bus, or an instance, never has one.
bool learns_uuid(const model::Gpu& gpu)
{
    return gpu.uuid.empty() && !gpu.pci_address.empty() && !gpu.is_instance();
}

} // namespace

Beginning begin_fingerprint(const std::string& system_root)
{
    Beginning beginning = {kernel_marks(system_root), {}, {}};
    // File systems use this clock; another one could be ahead of it.
    (void)::clock_gettime(CLOCK_REALTIME_COARSE, &beginning.time);
    return beginning;
}

void note_described(Beginning& beginning, const std::string& system_root,
                    std::span<const Vendor> vendors)
{
    beginning.described = described_marks(system_root, vendors);
}

std::vector<Mark> fingerprint(const std::string& system_root, std::span<const DriverStack> drivers,
                              std::span<const std::string> site_places, Beginning beginning)
{
    Marks marks(system_root, std::move(beginning.kernel), Period::since(beginning.time));
    marks.add_drivers(drivers);
    for (const std::string& place : site_places)
        marks.add_optional(place, 0);
    auto all = std::move(marks).take();
    std::ranges::move(beginning.described, std::back_inserter(all));
    return all;
}

bool is_current(const std::string& system_root, std::span<const DriverStack> drivers,
                std::span<const Mark> marks)
{
    for (const DriverStack& driver : drivers) {
        const Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (driver.version_source == model::VersionSource::module && vendor != nullptr
            && vendor->learns_uuids && std::ranges::any_of(driver.gpus, learns_uuid))
            return false;
    }
    Marks here(system_root, kernel_marks(system_root), std::nullopt);
    here.add_drivers(drivers);
    const auto now = std::move(here).take();
    if (marks.size() < now.size() || !std::ranges::equal(now, marks.first(now.size())))
        return false;
    return std::ranges::all_of(marks.subspan(now.size()), [&](const Mark& mark) {
        return state_now(system_root, mark.path) == mark.state;
    });
}

} // namespace gpucontainer::detect

// SPDX-License-Identifier: MIT
#include "apply/left_nodes.hpp"

#include "base/file.hpp"
#include "base/file_time.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::apply {
namespace {

/// Whether it is a character device with one of the numbers, created since then.
bool is_node_since(int directory, const std::string& name, const std::vector<unsigned>& majors,
                   std::int64_t since)
{
    struct statx status = {};
    if (::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                STATX_BASIC_STATS | STATX_BTIME, &status)
            != 0
        || !S_ISCHR(status.stx_mode)
        || std::ranges::find(majors, status.stx_rdev_major) == majors.end())
        return false;
    // Without a birth time, that of the last change.
    const statx_timestamp& made =
        (status.stx_mask & STATX_BTIME) != 0 ? status.stx_btime : status.stx_ctime;
    return base::to_nanoseconds(made.tv_sec, made.tv_nsec) > since;
}

void add_nodes_in(const std::string& directory, int rootfs_fd, const std::vector<unsigned>& majors,
                  std::int64_t since, std::vector<std::string>& found)
{
    constexpr std::size_t most_names = 4096;
    const base::UniqueFd fd(base::open_in_root(rootfs_fd, directory.c_str(),
                                               O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW));
    if (!fd)
        return;
    const auto names = base::list_directory(fd.get(), ".", most_names);
    for (const std::string& name : names ? *names : std::vector<std::string>())
        if (std::ranges::none_of(name, base::is_control)
            && is_node_since(fd.get(), name, majors, since))
            found.push_back(base::format("{}/{}", directory, name));
}

} // namespace

std::int64_t beginning_of(const journal::Journal& journal)
{
    return journal.progress == journal::Progress::complete && journal.changing_since != 0
               ? journal.changing_since
               : base::to_nanoseconds(journal.since, 0);
}

model::Findings find_left_nodes(const journal::Journal& journal, std::int64_t since, int rootfs_fd)
{
    std::vector<std::string> found;
    for (const plan::UsedDriver& driver : journal.drivers) {
        const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (vendor == nullptr || vendor->node_directories.empty())
            continue;
        const auto devices = base::read_file("/proc/devices");
        const auto majors = search::character_majors(devices ? *devices : "", vendor->node_drivers);
        for (const std::string_view directory : vendor->node_directories)
            add_nodes_in(std::string(directory), rootfs_fd, majors, since, found);
    }
    constexpr std::size_t most_told = 16;
    model::Findings findings;
    for (std::size_t i = 0; i < std::min(found.size(), most_told); ++i)
        findings.push_back({model::FindingCode::node_left, found[i],
                            "left: a program in the container made this device node of the "
                            "driver"});
    if (found.size() > most_told)
        findings.push_back(
            {model::FindingCode::node_left, "",
             base::format("left: {} more device nodes of the driver", found.size() - most_told)});
    return findings;
}

} // namespace gpucontainer::apply

// SPDX-License-Identifier: MIT
#include "stranger_nodes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <sys/utsname.h>

namespace gpucontainer::simhost {
namespace {

/// Those of memory, terminals and the like, which some kernels have and others get, and "misc", for
/// whose numbers the kernel loads modules.
constexpr unsigned last_standard_major = 10;
/// The kernel gives no driver a major number from 512 on (CHRDEV_MAJOR_MAX).
constexpr unsigned first_free_major = 3072;
constexpr unsigned most_majors = 1024;
constexpr mode_t permissions = 0777;
constexpr std::size_t max_aliases = std::size_t{32} << 20U;

/// Major numbers of character devices that this machine has or would load a module for.
class MajorNumbers {
public:
    MajorNumbers()
    {
        const auto table = base::read_file("/proc/devices");
        is_known_ = static_cast<bool>(table);
        if (table)
            add_table(*table);
        struct utsname system = {};
        if (::uname(&system) != 0)
            return;
        const std::string directory = base::format("/lib/modules/{}/", &system.release[0]);
        for (const char* name : {"modules.alias", "modules.builtin.alias"})
            if (const auto aliases = base::read_file(directory + name, max_aliases))
                add_aliases(*aliases);
    }

    bool has(std::uint64_t major) const
    {
        return !is_known_ || major <= last_standard_major || numbers_.contains(major);
    }

private:
    void add(std::string_view text)
    {
        if (const auto number = base::to_number(text))
            numbers_.insert(*number);
    }

    void add_table(std::string_view table)
    {
        for (const std::string_view line :
             base::split(table.substr(0, table.find("Block")), '\n')) {
            const std::string_view entry = base::trim(line);
            add(entry.substr(0, entry.find(' ')));
        }
    }

    void add_aliases(std::string_view aliases)
    {
        constexpr std::string_view start = "alias char-major-";
        for (const std::string_view line : base::split(aliases, '\n'))
            if (line.starts_with(start)) {
                const std::string_view rest = line.substr(start.size());
                add(rest.substr(0, rest.find('-')));
            }
    }

    bool is_known_ = false;
    std::set<std::uint64_t> numbers_;
};

unsigned free_number(std::uint64_t major)
{
    return first_free_major + static_cast<unsigned>(major % most_majors);
}

/// Whether sysfs and procfs are to have another number. /dev/null and its like are the machine's.
bool is_renumbered(std::uint64_t major, const MajorNumbers& machine)
{
    constexpr unsigned last_of_every_machine = 9;
    return major > last_of_every_machine && machine.has(major);
}

/// "10:55\n" with another major number, if a driver of this machine has that one.
void renumber(std::string& text, const MajorNumbers& machine)
{
    const auto colon = text.find(':');
    const auto major = base::to_number(text.substr(0, colon));
    if (colon != std::string::npos && major && is_renumbered(*major, machine))
        text.replace(0, colon, std::to_string(free_number(*major)));
}

/// What the kernel tells of such a device has its new number.
void renumber(SysDevice& device, const MajorNumbers& machine)
{
    if (device.property("SUBSYSTEM") == "block")
        return;
    for (NamedText& property : device.properties)
        if (const auto major = base::to_number(property.text);
            property.name == "MAJOR" && major && is_renumbered(*major, machine))
            property.text = std::to_string(free_number(*major));
    for (NamedText& attribute : device.attributes)
        if (attribute.name == "dev")
            renumber(attribute.text, machine);
}

/// /proc/devices, with the new numbers after those that they are in place of.
std::string renumbered_table(std::string_view table, const MajorNumbers& machine)
{
    std::string text;
    bool is_character = true;
    for (const std::string_view line : base::split(base::trim(table), '\n')) {
        is_character = is_character && !line.starts_with("Block");
        text.append(line).append("\n");
        const std::string_view entry = base::trim(line);
        const auto space = entry.find(' ');
        const auto major = base::to_number(entry.substr(0, space));
        if (is_character && space != std::string_view::npos && major
            && is_renumbered(*major, machine))
            text += base::format("{}{}\n", free_number(*major), entry.substr(space));
    }
    return text;
}

const char* why_refused(const DeviceNode& node)
{
    if (node.kind == NodeKind::block)
        return "it is a block device";
    if (node.kind == NodeKind::link) {
        const auto target = target_of_link(node.path, node.target);
        return target && base::is_below(*target, "/dev") ? nullptr : "it leads out of /dev";
    }
    return nullptr;
}

} // namespace

void restrict_nodes(Recording& host, std::vector<std::string>& left_out)
{
    const MajorNumbers machine;
    std::erase_if(host.nodes, [&](const DeviceNode& node) {
        const char* const reason = why_refused(node);
        if (reason != nullptr)
            left_out.push_back(base::format("{} ({})", node.path, reason));
        return reason != nullptr;
    });
    for (DeviceNode& node : host.nodes) {
        node.mode &= permissions;
        if (node.kind != NodeKind::character || !machine.has(node.major))
            continue;
        node.major = free_number(node.major);
        left_out.push_back(
            base::format("number of {} (it may be one of a device of this machine)", node.path));
    }
    for (SysDevice& device : host.devices)
        renumber(device, machine);
    for (TextFile& file : host.sys)
        if (file.path.ends_with("/dev"))
            renumber(file.content, machine);
    for (TextFile& file : host.proc)
        if (file.path == "/proc/devices")
            file.content = renumbered_table(file.content, machine);
}

} // namespace gpucontainer::simhost

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

    bool has(unsigned major) const
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

const char* why_refused(const DeviceNode& node, const MajorNumbers& machine)
{
    if (node.kind == NodeKind::block)
        return "it is a block device";
    if (node.kind == NodeKind::link) {
        const auto target = target_of_link(node.path, node.target);
        return target && base::is_below(*target, "/dev") ? nullptr : "it leads out of /dev";
    }
    return machine.has(node.major) ? "it has a number that a driver of this machine has" : nullptr;
}

} // namespace

void restrict_nodes(Recording& host, std::vector<std::string>& left_out)
{
    const MajorNumbers machine;
    std::erase_if(host.nodes, [&](const DeviceNode& node) {
        const char* const reason = why_refused(node, machine);
        if (reason != nullptr)
            left_out.push_back(base::format("{} ({})", node.path, reason));
        return reason != nullptr;
    });
    for (DeviceNode& node : host.nodes)
        node.mode &= permissions;
}

} // namespace gpucontainer::simhost

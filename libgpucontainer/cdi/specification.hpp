// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Documents of the Container Device Interface, as plain values.
namespace gpucontainer::cdi {

/// Where something was read, for messages. It is no part of what a specification says.
struct Place {
    std::string file = {};
    std::size_t line = 0;
    std::string where = {}; ///< "devices[0].containerEdits.mounts[3]"

    /// "FILE:LINE: WHERE"
    std::string text() const;
    bool operator==(const Place& /*other*/) const { return true; }
};

struct DeviceNode {
    std::string path; ///< In the container.
    std::string host_path = {};
    std::string type = {}; ///< "b", "c", "u" or "p".
    std::optional<std::int64_t> major = {};
    std::optional<std::int64_t> minor = {};
    std::optional<std::uint32_t> file_mode = {};
    std::string permissions = {}; ///< Of the device cgroup: "rw".
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};
    Place place = {};

    bool operator==(const DeviceNode&) const = default;
};

struct NetDevice {
    std::string host_name;
    std::string name;

    bool operator==(const NetDevice&) const = default;
};

struct Mount {
    std::string host_path;
    std::string container_path;
    std::vector<std::string> options = {};
    std::string type = {};
    Place place = {};

    bool operator==(const Mount&) const = default;
};

struct Hook {
    std::string name; ///< The stage at which it runs.
    std::string path;
    std::vector<std::string> args = {};
    std::vector<std::string> env = {};
    std::optional<std::int64_t> timeout = {};
    Place place = {};

    bool operator==(const Hook&) const = default;
};

/// Resources of processors, by resctrl.
struct Rdt {
    std::string clos_id = {};
    std::string l3_cache_schema = {};
    std::string memory_bandwidth_schema = {};
    std::vector<std::string> schemata = {};
    bool enable_monitoring = false;

    bool operator==(const Rdt&) const = default;
};

/// What a container gets.
struct Edits {
    std::vector<std::string> env = {}; ///< NAME=VALUE
    std::vector<DeviceNode> nodes = {};
    std::vector<NetDevice> net_devices = {};
    std::vector<Mount> mounts = {};
    std::vector<Hook> hooks = {};
    std::optional<Rdt> rdt = {};
    std::vector<std::uint32_t> additional_gids = {};
    Place place = {};

    bool operator==(const Edits&) const = default;
    bool is_empty() const { return *this == Edits(); }
};

using Annotations = std::map<std::string, std::string>;

struct Device {
    std::string name;
    Annotations annotations = {};
    Edits edits = {};

    bool operator==(const Device&) const = default;
};

struct Specification {
    std::string version; ///< "0.5.0"
    std::string kind;    ///< "nvidia.com/gpu"
    Annotations annotations = {};
    std::vector<Device> devices = {};
    Edits edits = {}; ///< For each container with at least one of the devices.

    bool operator==(const Specification&) const = default;
};

} // namespace gpucontainer::cdi

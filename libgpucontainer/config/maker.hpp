// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/yaml_document.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace gpucontainer::config {

/// What stands for a device's number, in the name of a device or node.
inline constexpr std::string_view number_placeholder = "{number}";

/// As model::VisibleDevices has them, but for a container toolkit's own reader.
inline constexpr std::array<std::string_view, 3> reader_names = {"library", "runtime", "filter"};
inline constexpr std::array<std::string_view, 4> inside_names = {"uuid", "position", "name",
                                                                 "nothing"};

/// A maker of GPUs as data: how its GPUs are told from others' devices, and what belongs to
/// them. It borrows: a table that is built in, or a file that was read.
struct Maker {
    struct Model {
        std::uint16_t device = 0; ///< The function's device id.
        std::string_view name;
    };

    /// A device node, or one for each GPU.
    struct Node {
        /// With "{number}" a GPU's; with "*" those of a GPU's PCI function whose path has
        /// digits there; otherwise one for all GPUs.
        std::string_view path;
        std::string_view in_class;     ///< Of the kernel, whose device has the node's number.
        std::string_view major;        ///< A name in /proc/devices that tells it instead.
        std::optional<unsigned> minor; ///< With `major`; none: the GPU's number.
        std::string_view capability = "none";
        bool optional = false;
    };

    /// As model::VisibleDevices.
    struct Variable {
        std::string_view name;
        std::string_view reader; ///< One of reader_names.
        std::string_view inside; ///< One of inside_names.
        std::string_view prefix;
        bool always = false;
        bool empty_is_unset = false;
    };

    std::string_view name;  ///< "acme"
    std::string_view title; ///< "Acme"
    std::string_view kind;  ///< "acme.com/gpu"
    std::string_view module;
    std::string_view driver;       ///< The kernel driver that a GPU is bound to.
    std::string_view device_class; ///< GPUs are devices of this class of the kernel; empty:
                                   ///< functions on the PCI bus.
    std::string_view device_name;  ///< In that class: "accel{number}"
    std::uint16_t pci_vendor = 0;
    std::optional<std::uint16_t> pci_class; ///< Base class and subclass.
    bool by_address = false;       ///< Order of GPUs; otherwise by the numbers of the devices.
    std::string_view uuid;         ///< The attribute of a device with its UUID; maybe "".
    std::string_view model;        ///< The same, for what follows the model's name.
    std::span<const Model> models; ///< Without a class, only these are GPUs, unless empty.
    std::span<const Node> nodes;
    std::span<const Variable> variables;
    std::span<const std::string_view> needs;       ///< As DriverStack::needs.
    std::span<const std::string_view> directories; ///< As DriverStack::image_directories.
};

/// Reads the section `maker` of a catalogue file that is about `name`, as
/// docs/configuration.md describes it. What it names is confined: nodes to /dev, devices
/// and attributes to one component of a path. Borrows from `document`, a part of which
/// `section` is, and keeps it. Errors: usage, with a line.
Result<std::shared_ptr<const Maker>> read_maker(std::shared_ptr<const YamlValue> document,
                                                const YamlValue& section, std::string_view name);

} // namespace gpucontainer::config

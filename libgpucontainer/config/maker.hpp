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

/// Placeholder for a device's number, in the name of a device or node.
inline constexpr std::string_view number_placeholder = "{number}";

/// The readers of model::VisibleDevices, except that of a container toolkit.
inline constexpr std::array<std::string_view, 3> reader_names = {"library", "runtime", "filter"};
inline constexpr std::array<std::string_view, 4> inside_names = {"uuid", "position", "name",
                                                                 "nothing"};

/// A maker of GPUs as data: how its GPUs are recognised, and what belongs to them. Its texts are
/// borrowed from a built-in table or from a file that was read.
struct Maker {
    struct Model {
        std::uint16_t device = 0; ///< The function's device id.
        std::string_view name;
    };

    /// A device node, or one for each GPU.
    struct Node {
        /// With "{number}": one for each GPU. With "*": those of a GPU's PCI function whose path
        /// has digits there. Otherwise one for all GPUs.
        std::string_view path;
        std::string_view in_class;     ///< Class of the device that has the node's number.
        std::string_view major;        ///< Instead, the name of the major number in /proc/devices.
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
    std::string_view device_class; ///< Class of the GPUs' devices; empty: GPUs are functions on
                                   ///< the PCI bus.
    std::string_view device_name;  ///< In that class: "accel{number}"
    std::uint16_t pci_vendor = 0;
    std::optional<std::uint16_t> pci_class; ///< Base class and subclass.
    bool by_address = false;       ///< GPUs are in the order of PCI addresses, not of numbers.
    std::string_view uuid;         ///< Attribute of a device with its UUID; may be "".
    std::string_view model;        ///< Attribute with a suffix of the model's name; may be "".
    std::span<const Model> models; ///< Without a class: only these are GPUs, unless empty.
    std::span<const Node> nodes;
    std::span<const Variable> variables;
    std::span<const std::string_view> needs;       ///< As DriverStack::needs.
    std::span<const std::string_view> directories; ///< As DriverStack::image_directories.
};

/// Reads the section `maker` of the catalogue file of vendor `name`, as docs/configuration.md
/// describes it. Nodes must be below /dev; names of devices and attributes are one path component.
/// The result keeps `document`, of which `section` is a part, and borrows from it. Errors: usage,
/// with a line.
Result<std::shared_ptr<const Maker>> read_maker(std::shared_ptr<const YamlValue> document,
                                                const YamlValue& section, std::string_view name);

} // namespace gpucontainer::config

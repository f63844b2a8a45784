// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "config/names.hpp"
#include "elf/machine.hpp"
#include "model/driver.hpp"
#include "record/fields.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

/// The fields of the values of model/, each with what it may have.
namespace gpucontainer::record {

// Far more than a host has, but few enough to be read quickly.
inline constexpr std::size_t most_gpus = 1024;
inline constexpr std::size_t most_files = 4096;
inline constexpr std::size_t most_names = 64;
inline constexpr std::size_t most_registrations = 8;
inline constexpr std::size_t most_needed = 1024;
inline constexpr std::uint32_t most_parts = 64;
inline constexpr std::size_t most_nodes = 4096;

// The limits of the kernel's device numbers.
inline constexpr std::uint32_t largest_major = 0xfff;
inline constexpr std::uint32_t largest_minor = 0xfffff;
inline constexpr std::uint32_t all_permissions = 07777;
inline constexpr int most_numa_nodes = 1 << 16;

// What a field may have.
struct Text {
    Check check;
};
struct TextOrNull {
    Check check;
    bool may_be_missing = false; ///< As in Number.
};
struct Texts {
    std::size_t most;
    Check check;
};
struct Number {
    std::uint32_t most = UINT32_MAX;
    bool may_be_missing = false; ///< In records of earlier versions: it is as in a new value then.
};
struct NumberOrNull {
    int most;
    bool may_be_missing = false; ///< As in Number.
};
struct Numbers {
    std::size_t most;
};
struct Flag {};
/// One of an enumeration's names.
template <typename Enum>
struct Word {
    std::optional<Enum> (*parse)(std::string_view text);
};
/// A file's identity. It is a text, because readers that store numbers as doubles would round it.
struct Identity {};
/// Severity of a finding, which follows from its code.
struct Severity {};
struct List {
    std::size_t most;
};

inline constexpr Word<model::Capability> capability_word = {model::parse_capability};

inline const char* is_path_below(std::string_view text)
{
    return is_path(base::format("/{}", text));
}

// The list of fields of each value. All members are named first, so that a new one does not compile
// without its line.

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Gpu>
void visit(Visitor& field, Self& gpu)
{
    auto& [index, uuid, pci_address, model, minor, numa_node, architecture, names, parts, parent] =
        gpu;
    field("index", index, Number{most_gpus});
    field("uuid", uuid, TextOrNull{is_word});
    field("pci_address", pci_address, TextOrNull{is_word});
    field("model", model, Text{is_line});
    field("minor", minor, NumberOrNull{largest_minor});
    field("numa_node", numa_node, NumberOrNull{most_numa_nodes});
    field("architecture", architecture, TextOrNull{is_word});
    field("names", names, Texts{most_names, is_word});
    field("parts", parts, Number{most_parts});
    field("parent", parent, NumberOrNull{most_gpus, true});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::VersionNeed>
void visit(Visitor& field, Self& need)
{
    auto& [library, version] = need;
    field("library", library, Text{is_name});
    field("version", version, Text{is_name});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Registration>
void visit(Visitor& field, Self& registration)
{
    auto& [manner, name, content] = registration;
    field("manner", manner, Word<model::Manner>{model::parse_manner});
    field("name", name, TextOrNull{is_line});
    field("content", content, TextOrNull{is_text, true});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::DriverFile>
void visit(Visitor& field, Self& file)
{
    auto& [kind, capability, also, name, soname, path, links, entry_names, reason, id,
           registrations, precedence, directory, needed, versions, compat32] = file;
    field("kind", kind, Word<model::FileKind>{model::parse_file_kind});
    field("name", name, Text{is_name});
    field("soname", soname, TextOrNull{is_name});
    field("path", path, Text{is_path});
    field("capability", capability, capability_word);
    field("also", also, capability_word);
    field("links", links, Texts{most_names, is_name});
    field("entry_names", entry_names, Texts{most_names, is_name});
    field("registrations", registrations, List{most_registrations});
    field("precedence", precedence, Word<model::Precedence>{model::parse_precedence});
    field("directory", directory, Flag());
    field("needed", needed, Texts{most_needed, is_name});
    field("versions", versions, List{most_needed});
    field("compat32", compat32, Flag());
    field("id", id, Identity());
    field("reason", reason, Text{is_line});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::DeviceNode>
void visit(Visitor& field, Self& node)
{
    auto& [path, host_path, major, minor, mode, uid, gid, gpu, capability, accessible,
           cgroup_forbids, required, links, extra, makeable, problem] = node;
    field("path", path, Text{is_path});
    field("host_path", host_path, Text{is_path});
    field("major", major, Number{largest_major});
    field("minor", minor, Number{largest_minor});
    field("mode", mode, Number{all_permissions});
    field("uid", uid, Number{UINT32_MAX, true});
    field("gid", gid, Number{});
    field("gpu", gpu, NumberOrNull{most_gpus});
    field("capability", capability, capability_word);
    field("accessible", accessible, Flag());
    field("cgroup_forbids", cgroup_forbids, Flag());
    field("required", required, Flag());
    field("links", links, Texts{most_names, is_path});
    field("extra", extra, TextOrNull{is_word});
    field("makeable", makeable, Flag());
    field("problem", problem, TextOrNull{is_line});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::SharedPath>
void visit(Visitor& field, Self& shared)
{
    auto& [path, kind, capability, extra, uid, accessible, reason] = shared;
    field("path", path, Text{is_path});
    field("kind", kind, Word<model::SharedPath::Kind>{model::parse_shared_kind});
    field("capability", capability, capability_word);
    field("extra", extra, Text{is_word});
    field("uid", uid, Number{});
    field("accessible", accessible, Flag());
    field("reason", reason, Text{is_line});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Shown>
void visit(Visitor& field, Self& shown)
{
    auto& [name, gpu, directory, extra] = shown;
    field("name", name, Text{is_path_below});
    field("gpu", gpu, NumberOrNull{most_gpus});
    field("directory", directory, Flag());
    field("extra", extra, TextOrNull{is_word});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Mask>
void visit(Visitor& field, Self& mask)
{
    auto& [path, content, reason, directory, shown, against_nodes] = mask;
    field("path", path, Text{is_path});
    field("content", content, Text{is_text});
    field("reason", reason, Text{is_line});
    field("directory", directory, Flag());
    field("shown", shown, List{most_nodes});
    field("against_nodes", against_nodes, Flag());
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Finding>
void visit(Visitor& field, Self& finding)
{
    auto& [code, object, text, evidence, hint, capability, weight] = finding;
    field("code", code, Word<model::FindingCode>{model::parse_finding_code});
    field("severity", finding, Severity());
    field("object", object, TextOrNull{is_text});
    field("text", text, Text{is_text});
    field("evidence", evidence, TextOrNull{is_text});
    field("hint", hint, TextOrNull{is_text});
    field("capability", capability, capability_word);
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::VisibleDevices>
void visit(Visitor& field, Self& variable)
{
    auto& [name, reader, inside, prefix, always, whole_if, pci_order_if, empty_is_unset, decides,
           preferred] = variable;
    field("name", name, Text{is_word});
    field("reader", reader, Word<model::VisibleDevices::Reader>{model::parse_reader});
    field("inside", inside, Word<model::VisibleDevices::Inside>{model::parse_inside});
    field("prefix", prefix, TextOrNull{is_word});
    field("always", always, Flag());
    field("whole_if", whole_if, TextOrNull{is_line});
    field("pci_order_if", pci_order_if, TextOrNull{is_line});
    field("empty_is_unset", empty_is_unset, Flag());
    field("decides", decides, Flag());
    field("preferred", preferred, TextOrNull{is_word});
}

inline const char* is_vendor(std::string_view text)
{
    return config::is_vendor_name(text) ? nullptr : "not the name of a vendor";
}

inline const char* is_machine(std::string_view text)
{
    return elf::find_machine(text) != nullptr ? nullptr : "not an architecture that is known";
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::DriverStack>
void visit(Visitor& field, Self& driver)
{
    auto& [vendor, vendor_name, cdi_kind, version, version_source, root, machine, library_directory,
           optional_files, visible_devices, needs, image_directories, tree_link, gpus,
           library_order, files, nodes, missing_nodes, shared_paths, masks, findings] = driver;
    field("vendor", vendor, Text{is_vendor});
    field("vendor_name", vendor_name, Text{is_line});
    field("cdi_kind", cdi_kind, Text{is_word});
    field("version", version, TextOrNull{is_version});
    field("version_source", version_source,
          Word<model::VersionSource>{model::parse_version_source});
    field("root", root, Text{is_path});
    field("machine", machine, TextOrNull{is_machine, true});
    field("library_directory", library_directory, TextOrNull{is_path});
    field("optional_files", optional_files, Flag());
    field("visible_devices", visible_devices, List{most_names});
    field("needs", needs, Texts{most_names, is_line});
    field("image_directories", image_directories, Texts{most_names, is_path});
    field("tree_link", tree_link, TextOrNull{is_path});
    field("gpus", gpus, List{most_gpus});
    field("library_order", library_order, Numbers{most_gpus});
    field("files", files, List{most_files});
    field("nodes", nodes, List{most_nodes});
    field("missing_nodes", missing_nodes, List{most_nodes});
    field("shared_paths", shared_paths, List{most_names});
    field("masks", masks, List{most_names});
    field("findings", findings, List{most_others});
}

} // namespace gpucontainer::record

// SPDX-License-Identifier: MIT
#include "record/driver.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "config/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace gpucontainer::record {
namespace {

using model::DeviceNode;
using model::DriverFile;
using model::DriverStack;
using model::FileId;
using model::Gpu;

// Far more than a host has, but few enough to be read quickly.
constexpr std::size_t most_gpus = 256;
constexpr std::size_t most_files = 4096;
constexpr std::size_t most_names = 64;
constexpr std::size_t most_registrations = 8;
constexpr std::size_t most_needed = 1024;
constexpr std::uint32_t most_parts = 64;
constexpr std::size_t most_nodes = 4096;

// The limits of the kernel's device numbers.
constexpr std::uint32_t largest_major = 0xfff;
constexpr std::uint32_t largest_minor = 0xfffff;
constexpr std::uint32_t all_permissions = 07777;
constexpr int most_numa_nodes = 1 << 16;

// What a field may have.
struct Text {
    Check check;
};
struct TextOrNull {
    Check check;
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

constexpr Word<model::Capability> capability_word = {model::parse_capability};

// The list of fields of each value. All members are named first, so that a new one does not compile
// without its line.

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, Gpu>
void visit(Visitor& field, Self& gpu)
{
    auto& [index, uuid, pci_address, model, minor, numa_node, architecture, names, parts] = gpu;
    field("index", index, Number{most_gpus});
    field("uuid", uuid, TextOrNull{is_word});
    field("pci_address", pci_address, TextOrNull{is_word});
    field("model", model, Text{is_line});
    field("minor", minor, NumberOrNull{largest_minor});
    field("numa_node", numa_node, NumberOrNull{most_numa_nodes});
    field("architecture", architecture, TextOrNull{is_word});
    field("names", names, Texts{most_names, is_word});
    field("parts", parts, Number{most_parts});
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
    auto& [manner, name] = registration;
    field("manner", manner, Word<model::Manner>{model::parse_manner});
    field("name", name, TextOrNull{is_line});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, DriverFile>
void visit(Visitor& field, Self& file)
{
    auto& [kind, capability, also, name, soname, path, links, entry_names, reason, id,
           registrations, precedence, directory, needed, versions] = file;
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
    field("id", id, Identity());
    field("reason", reason, Text{is_line});
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, DeviceNode>
void visit(Visitor& field, Self& node)
{
    auto& [path, host_path, major, minor, mode, uid, gid, gpu, capability, accessible,
           cgroup_forbids, required, links] = node;
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
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Mask>
void visit(Visitor& field, Self& mask)
{
    auto& [path, content, reason, directory] = mask;
    field("path", path, Text{is_path});
    field("content", content, Text{is_text});
    field("reason", reason, Text{is_line});
    field("directory", directory, Flag());
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, model::Finding>
void visit(Visitor& field, Self& finding)
{
    auto& [code, object, text, evidence, hint, capability] = finding;
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

const char* is_vendor(std::string_view text)
{
    return config::is_vendor_name(text) ? nullptr : "not the name of a vendor";
}

template <typename Visitor, typename Self>
requires std::is_same_v<std::remove_const_t<Self>, DriverStack>
void visit(Visitor& field, Self& driver)
{
    auto& [vendor, vendor_name, cdi_kind, version, version_source, root, library_directory,
           optional_files, visible_devices, needs, image_directories, tree_link, gpus,
           library_order, files, nodes, missing_nodes, masks, findings] = driver;
    field("vendor", vendor, Text{is_vendor});
    field("vendor_name", vendor_name, Text{is_line});
    field("cdi_kind", cdi_kind, Text{is_word});
    field("version", version, TextOrNull{is_version});
    field("version_source", version_source,
          Word<model::VersionSource>{model::parse_version_source});
    field("root", root, Text{is_path});
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
    field("masks", masks, List{most_names});
    field("findings", findings, List{most_others});
}

class Writer {
public:
    Json take() && { return std::move(object_); }

    template <typename Value, typename Rule>
    void operator()(const char* name, const Value& value, const Rule& rule)
    {
        object_[name] = write(value, rule);
    }

private:
    template <typename Value, typename Rule>
    static Json write(const Value& value, const Rule& /*rule*/)
    {
        return value;
    }
    static Json write(const std::string& value, TextOrNull /*rule*/) { return text_or_null(value); }
    static Json write(int value, NumberOrNull /*rule*/) { return number_or_null(value); }
    template <typename Enum>
    static Json write(Enum value, const Word<Enum>& /*rule*/)
    {
        return model::name(value);
    }
    static Json write(const model::Finding& finding, Severity /*rule*/)
    {
        return model::name(finding.severity());
    }
    static Json write(const FileId& id, Identity /*rule*/)
    {
        return base::format("{}:{}:{}:{}", id.device, id.inode, id.size,
                            static_cast<std::uint64_t>(id.mtime_ns));
    }
    template <typename Element>
    static Json write(const std::vector<Element>& elements, List /*rule*/)
    {
        return array_of(elements, [](const Element& element) {
            Writer writer;
            visit(writer, element);
            return std::move(writer).take();
        });
    }

    Json object_ = Json::object();
};

template <typename Value>
Json written(const Value& value)
{
    Writer writer;
    visit(writer, value);
    return std::move(writer).take();
}

FileId read_id(const Fields& fields, const char* name)
{
    const std::string text = fields.text(name, is_word);
    const auto parts = base::split(text, ':');
    std::array<std::uint64_t, 4> numbers = {};
    bool fits = parts.size() == numbers.size();
    for (std::size_t i = 0; fits && i < numbers.size(); ++i) {
        const auto number = base::to_number(parts[i]);
        fits = number.has_value();
        numbers.at(i) = number.value_or(0);
    }
    if (!fits)
        fields.complain(name, "not device, inode, size and time of a file");
    return {numbers[0], numbers[1], numbers[2], static_cast<std::int64_t>(numbers[3])};
}

/// Further rules for the fields of a value; most values have none.
template <typename Value>
void check(const Value& /*value*/, const Fields& /*fields*/)
{
}

model::FileKind kind_for(model::Manner manner)
{
    switch (manner) {
    case model::Manner::loader:
    case model::Manner::module_directory:
    case model::Manner::opencl_icd:
        return model::FileKind::library;
    case model::Manner::command:
    case model::Manner::script:
        return model::FileKind::tool;
    case model::Manner::fixed_path:
        break;
    }
    return model::FileKind::data;
}

void check(const DriverFile& file, const Fields& fields)
{
    if (file.kind == model::FileKind::library && file.soname.empty())
        fields.complain("soname", "not a text");
    for (auto one = file.registrations.begin(); one != file.registrations.end(); ++one)
        if (std::any_of(file.registrations.begin(), one,
                        [&](const auto& other) { return other.manner == one->manner; }))
            fields.complain("registrations", "one manner more than once");
    if (file.registrations.empty())
        fields.complain("registrations", "none");
    for (const model::Registration& one : file.registrations)
        if (kind_for(one.manner) != file.kind)
            fields.complain("registrations", "not of a file of this kind");
}

/// Needs and errors belong to plans and set-ups, not to a host. A plan repeats warnings, one a
/// line.
void check(const model::Finding& finding, const Fields& fields)
{
    const model::Severity severity = finding.severity();
    if (severity == model::Severity::need || severity == model::Severity::error)
        fields.complain("code", "not of a host");
    if (finding.text.empty())
        fields.complain("text", "not a text");
    for (const std::string* text : {&finding.object, &finding.text, &finding.hint})
        if (severity == model::Severity::warning && is_line(*text) != nullptr)
            fields.complain("text", "a warning with a control character in it");
}

/// The name becomes a part of paths.
void check(const model::Registration& registration, const Fields& fields)
{
    using model::Manner;
    const std::string_view name = registration.name;
    const auto problem = [&]() -> const char* {
        switch (registration.manner) {
        case Manner::loader:
        case Manner::command:
            return name.empty() ? nullptr : "not null";
        case Manner::module_directory:
        case Manner::opencl_icd:
            return is_name(name);
        case Manner::script:
            return name.empty() ? "not a text" : nullptr;
        case Manner::fixed_path:
            return is_path(name);
        }
        return nullptr;
    }();
    if (problem != nullptr)
        fields.complain("name", problem);
}

/// Indexes are not checked again where they are used.
void check(const DriverStack& driver, const Fields& fields)
{
    if (driver.version.empty() && !driver.gpus.empty())
        fields.complain("version", "null, although the driver has GPUs");
    if (driver.gpus.empty() && driver.version_source != model::VersionSource::files)
        fields.complain("gpus", "none, although the driver is not of files only");
    for (std::size_t i = 0; i < driver.gpus.size(); ++i)
        if (driver.gpus[i].index != i)
            fields.complain("gpus", "not in the order of their indexes");
    const auto& order = driver.library_order;
    const bool is_order = order.size() == driver.gpus.size()
                          && std::ranges::all_of(driver.gpus, [&](const auto& gpu) {
                                 return std::ranges::count(order, gpu.index) == 1;
                             });
    if (!order.empty() && !is_order)
        fields.complain("library_order", "not each GPU once");
    const auto unknown = [&](const DeviceNode& node) {
        return node.gpu >= static_cast<int>(driver.gpus.size());
    };
    if (std::ranges::any_of(driver.nodes, unknown))
        fields.complain("nodes", "one is for a GPU that is not there");
    if (std::ranges::any_of(driver.missing_nodes, unknown))
        fields.complain("missing_nodes", "one is for a GPU that is not there");
}

template <typename Value>
Value read(const Fields& fields);

class Reader {
public:
    explicit Reader(const Fields& fields) : fields_(fields) {}

    void operator()(const char* name, std::string& value, Text rule)
    {
        value = fields_.text(name, rule.check);
    }
    void operator()(const char* name, std::string& value, TextOrNull rule)
    {
        value = fields_.text_or_null(name, rule.check);
    }
    void operator()(const char* name, std::vector<std::string>& value, Texts rule)
    {
        value = fields_.texts(name, rule.most, rule.check);
    }
    void operator()(const char* name, std::uint32_t& value, Number rule)
    {
        if (!rule.may_be_missing || fields_.has(name))
            value = fields_.number(name, rule.most);
    }
    void operator()(const char* name, int& value, NumberOrNull rule)
    {
        value = fields_.number_or_null(name, rule.most);
    }
    void operator()(const char* name, std::vector<std::uint32_t>& value, Numbers rule)
    {
        value = fields_.numbers(name, rule.most);
    }
    void operator()(const char* name, bool& value, Flag /*rule*/) { value = fields_.flag(name); }
    template <typename Enum>
    void operator()(const char* name, Enum& value, const Word<Enum>& rule)
    {
        value = fields_.word(name, rule.parse);
    }
    void operator()(const char* name, const model::Finding& value, Severity /*rule*/)
    {
        if (fields_.text(name, is_word) != model::name(value.severity()))
            fields_.complain(name, "not the severity of the code");
    }
    void operator()(const char* name, FileId& value, Identity /*rule*/)
    {
        value = read_id(fields_, name);
    }
    template <typename Element>
    void operator()(const char* name, std::vector<Element>& value, List rule)
    {
        value = fields_.list(name, rule.most, read<Element>);
    }

private:
    const Fields& fields_;
};

template <typename Value>
Value read(const Fields& fields)
{
    Value value;
    Reader reader(fields);
    visit(reader, value);
    check(value, fields);
    return value;
}

template <typename Value>
std::vector<std::string> names_of()
{
    std::vector<std::string> names;
    const Value value;
    const auto collect = [&](const char* name, const auto& /*value*/, const auto& /*rule*/) {
        names.emplace_back(name);
    };
    visit(collect, value);
    return names;
}

} // namespace

Json to_json(const DriverStack& driver) { return written(driver); }
Json to_json(const Gpu& gpu) { return written(gpu); }
Json to_json(const model::Finding& finding) { return written(finding); }

DriverStack read_driver(const Fields& fields) { return read<DriverStack>(fields); }
Gpu read_gpu(const Fields& fields) { return read<Gpu>(fields); }
model::Finding read_finding(const Fields& fields) { return read<model::Finding>(fields); }

std::vector<std::string> names_of_gpu() { return names_of<Gpu>(); }
std::vector<std::string> names_of_file() { return names_of<DriverFile>(); }
std::vector<std::string> names_of_node() { return names_of<DeviceNode>(); }
std::vector<std::string> names_of_driver() { return names_of<DriverStack>(); }
std::vector<std::string> names_of_finding() { return names_of<model::Finding>(); }

} // namespace gpucontainer::record

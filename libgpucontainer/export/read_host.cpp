// SPDX-License-Identifier: MIT
#include "export/read_host.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "export/record_fields.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace gpucontainer::exports {

using model::DeviceNode;
using model::DriverStack;

namespace {

// Far more than a host has, and little enough to be read in no time.
constexpr std::size_t largest_document = 4U << 20U;
constexpr int deepest = 8;
constexpr std::size_t most_drivers = 16;
constexpr std::size_t most_gpus = 256;
constexpr std::size_t most_files = 4096;
constexpr std::size_t most_names = 64;
constexpr std::size_t most_needed = 1024;
constexpr std::uint32_t most_parts = 64;
constexpr std::size_t most_nodes = 4096;
constexpr std::size_t most_others = 16384;

constexpr const char* usual_record = "a record is what `gpuctr-setup list --format json` prints";

// As the kernel's device numbers have them.
constexpr std::uint32_t largest_major = 0xfff;
constexpr std::uint32_t largest_minor = 0xfffff;
constexpr std::uint32_t all_permissions = 07777;
constexpr int most_numa_nodes = 1 << 16;

model::Gpu read_gpu(const Fields& fields)
{
    model::Gpu gpu;
    gpu.index = fields.number("index", most_gpus);
    gpu.uuid = fields.text_or_null("uuid", is_word);
    gpu.pci_address = fields.text_or_null("pci_address", is_word);
    gpu.model = fields.text("model", is_line);
    gpu.minor = fields.number_or_null("minor", largest_minor);
    gpu.numa_node = fields.number_or_null("numa_node", most_numa_nodes);
    gpu.architecture = fields.text_or_null("architecture", is_word);
    gpu.names = fields.texts("names", most_names, is_word);
    gpu.parts = fields.number("parts", most_parts);
    return gpu;
}

model::FileId read_id(const Fields& fields)
{
    const std::string text = fields.text("id", is_word);
    const auto parts = base::split(text, ':');
    std::array<std::uint64_t, 4> numbers = {};
    bool fits = parts.size() == numbers.size();
    for (std::size_t i = 0; fits && i < numbers.size(); ++i) {
        const auto number = base::to_number(parts[i]);
        fits = number.has_value();
        numbers.at(i) = number.value_or(0);
    }
    if (!fits)
        fields.complain("id", "not device, inode, size and time of a file");
    return {numbers[0], numbers[1], numbers[2], static_cast<std::int64_t>(numbers[3])};
}

model::VersionNeed read_version_need(const Fields& fields)
{
    return {fields.text("library", is_name), fields.text("version", is_name)};
}

model::DriverFile read_file(const Fields& fields)
{
    model::DriverFile file;
    file.kind = fields.word("kind", model::parse_file_kind);
    file.capability = fields.word("capability", model::parse_capability);
    file.also = fields.word("also", model::parse_capability);
    file.name = fields.text("name", is_name);
    file.soname = file.kind == model::FileKind::library ? fields.text("soname", is_name)
                                                        : fields.text_or_null("soname", is_name);
    file.path = fields.text("path", is_path);
    file.links = fields.texts("links", most_names, is_name);
    file.entry_names = fields.texts("entry_names", most_names, is_name);
    file.icd = fields.text_or_null("icd", is_name);
    file.module = fields.text_or_null("module", is_name);
    file.interpreter = fields.text_or_null("interpreter", is_line);
    file.target = file.kind == model::FileKind::data ? fields.text("target", is_path)
                                                     : fields.text_or_null("target", is_path);
    file.directory = fields.flag("directory");
    file.needed = fields.texts("needed", most_needed, is_name);
    file.versions = fields.list("versions", most_needed, read_version_need);
    file.neutral = fields.flag("neutral");
    file.own = fields.flag("own");
    file.beside_own = fields.flag("beside_own");
    file.reason = fields.text("reason", is_line);
    file.id = read_id(fields);
    return file;
}

DeviceNode read_node(const Fields& fields)
{
    DeviceNode node;
    node.path = fields.text("path", is_path);
    node.host_path = fields.text("host_path", is_path);
    node.major = fields.number("major", largest_major);
    node.minor = fields.number("minor", largest_minor);
    node.mode = fields.number("mode", all_permissions);
    node.gid = fields.number("gid", std::numeric_limits<std::uint32_t>::max());
    node.gpu = fields.number_or_null("gpu", most_gpus);
    node.capability = fields.word("capability", model::parse_capability);
    node.accessible = fields.flag("accessible");
    node.cgroup_forbids = fields.flag("cgroup_forbids");
    node.required = fields.flag("required");
    node.links = fields.texts("links", most_names, is_path);
    return node;
}

model::Mask read_mask(const Fields& fields)
{
    return {fields.text("path", is_path), fields.text("content", is_text),
            fields.text("reason", is_line), fields.flag("directory")};
}

model::Skipped read_skipped(const Fields& fields)
{
    return {fields.text("name", is_text), fields.text("source", is_text),
            fields.text("reason", is_text)};
}

model::Warning read_warning(const Fields& fields)
{
    return {fields.word("capability", model::parse_capability), fields.text("text", is_line)};
}

model::VisibleDevices read_visible(const Fields& fields)
{
    return {fields.text("name", is_word),
            fields.word("reader", model::parse_reader),
            fields.word("inside", model::parse_inside),
            fields.text_or_null("prefix", is_word),
            fields.flag("always"),
            fields.text_or_null("whole_if", is_line),
            fields.text_or_null("pci_order_if", is_line),
            fields.flag("empty_is_unset"),
            fields.flag("decides"),
            fields.text_or_null("preferred", is_word)};
}

detect::Mark read_mark(const Fields& fields)
{
    return {fields.text("path", is_path), fields.text("state", is_text)};
}

/// Indexes are used as such from here on.
void check_indexes(const DriverStack& driver, const Fields& fields)
{
    if (driver.gpus.empty() && driver.version_source != model::VersionSource::files)
        fields.complain("gpus", "none, and so no driver");
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

DriverStack read_driver(const Fields& fields)
{
    DriverStack driver;
    driver.vendor = fields.text("vendor", is_word);
    driver.vendor_name = fields.text("vendor_name", is_line);
    driver.version = fields.text_or_null("version", is_version);
    driver.version_source = fields.word("version_source", model::parse_version_source);
    driver.root = fields.text("root", is_path);
    driver.library_directory = fields.text_or_null("library_directory", is_path);
    driver.optional_files = fields.flag("optional_files");
    driver.visible_devices = fields.list("visible_devices", most_names, read_visible);
    driver.needs = fields.texts("needs", most_names, is_line);
    driver.image_directories = fields.texts("image_directories", most_names, is_path);
    driver.tree_link = fields.text_or_null("tree_link", is_path);
    driver.gpus = fields.list("gpus", most_gpus, read_gpu);
    driver.library_order = fields.numbers("library_order", most_gpus);
    driver.files = fields.list("files", most_files, read_file);
    driver.nodes = fields.list("nodes", most_nodes, read_node);
    driver.missing_nodes = fields.list("missing_nodes", most_nodes, read_node);
    driver.warnings = fields.list("warnings", most_names, read_warning);
    driver.masks = fields.list("masks", most_names, read_mask);
    driver.skipped = fields.list("skipped", most_others, read_skipped);
    if (driver.version.empty() && !driver.gpus.empty())
        fields.complain("version", "null, but for the files of a driver without a GPU");
    check_indexes(driver, fields);
    return driver;
}

/// Each vendor that is known here, once at most.
void check_vendors(const std::vector<DriverStack>& drivers, const Fields& fields)
{
    for (const DriverStack& driver : drivers) {
        const auto same = [&](const auto& other) { return other.vendor == driver.vendor; };
        const auto named = [&](const auto& vendor) { return vendor.name == driver.vendor; };
        if (std::ranges::none_of(drivers::vendors(), named))
            fields.complain("drivers", base::format("unknown vendor {}", driver.vendor));
        if (std::ranges::count_if(drivers, same) > 1)
            fields.complain("drivers", base::format("{} more than once", driver.vendor));
    }
}

Result<Fields::Json> parse(std::string_view text)
{
    if (text.size() > largest_document)
        return Error(Errc::usage, base::format("larger than {} bytes", largest_document));
    // What lies deeper than a record goes is dropped, and is missed as a field.
    const auto shallow = [](int depth, auto, const auto&) { return depth <= deepest; };
    try {
        return Fields::Json::parse(text, shallow);
    } catch (const Fields::Json::exception& exception) {
        const std::string_view what = exception.what(); // "[json.exception.NAME] WHAT"
        return Error(Errc::usage,
                     base::format("no JSON document: {}", what.substr(what.find(' ') + 1)))
            .with_hint(usual_record);
    }
}

} // namespace

Result<HostRecord> host_from_json(std::string_view text)
{
    GPUCTR_TRY(const Fields::Json document, parse(text), "host record");
    Fields::Problem problem;
    const Fields fields(document, "", problem);
    if (fields.text("schema", is_text) != "gpucontainer/list/1")
        fields.complain("schema", "not gpucontainer/list/1");
    HostRecord record;
    record.drivers = fields.list("drivers", most_drivers, read_driver);
    record.skipped = fields.list("skipped", most_others, read_skipped);
    record.fingerprint = fields.list("fingerprint", most_others, read_mark);
    check_vendors(record.drivers, fields);
    if (problem)
        return (*std::move(problem)).with_hint(usual_record).context("host record");
    return record;
}

} // namespace gpucontainer::exports

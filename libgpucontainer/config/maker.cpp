// SPDX-License-Identifier: MIT
#include "config/maker.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/names.hpp"
#include "config/yaml_fields.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::config {
namespace {

// More than any maker has, and few enough to bound the number of nodes of all GPUs.
constexpr std::size_t most_models = 64;
constexpr std::size_t most_nodes = 32;
constexpr std::size_t most_others = 16;
constexpr std::size_t longest_text = 200;
constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_path = 128;
constexpr std::uint64_t largest_minor = 0xfffff; // the kernel's limit

/// A maker and the text that it borrows from.
struct OwnedMaker {
    std::shared_ptr<const YamlValue> document;
    std::vector<Maker::Model> models;
    std::vector<Maker::Node> nodes;
    std::vector<Maker::Variable> variables;
    std::vector<std::string_view> needs;
    std::vector<std::string_view> directories;
    Maker maker;
};

Error fault(const Fields& fields, std::string_view key, std::string_view value,
            std::string_view what)
{
    return mistake(fields.find(key)->line, base::format("{} {} {}", key, quote(value), what));
}

/// A text that `fits`; empty if the key is missing.
template <typename Fits>
Result<std::string_view> optional_text(const Fields& fields, std::string_view key, Fits fits,
                                       std::string_view what)
{
    if (!fields.has(key))
        return std::string_view();
    GPUCTR_TRY(const std::string_view text, fields.text(key));
    if (!fits(text))
        return fault(fields, key, text, what);
    return text;
}

template <typename Fits>
Result<std::string_view> needed_text(const Fields& fields, std::string_view key, Fits fits,
                                     std::string_view what)
{
    GPUCTR_CHECK(fields.need(key));
    return optional_text(fields, key, fits, what);
}

/// Only ASCII: other alphabets have letters that look like those of another maker's name, and
/// characters that a terminal obeys.
bool is_line(std::string_view text)
{
    return text.size() <= longest_text
           && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}
constexpr std::string_view no_line = "is not one line of at most 200 bytes in ASCII";

/// A name of the kernel: of a class, a driver, a module, an attribute or a character driver.
bool is_kernel_name(std::string_view text)
{
    return text.size() <= longest_name && is_file_name(text);
}
constexpr std::string_view no_kernel_name = "is not a name (allowed: letters, digits, . _ + -)";

/// The same, for a part of the names of GPUs in a record.
bool is_part_of_word(std::string_view text)
{
    return is_kernel_name(text) && text.find('+') == std::string_view::npos;
}
constexpr std::string_view no_part_of_word = "is not a name (allowed: letters, digits, . _ -)";

/// Classes of memory, terminals, disks and virtual functions have no GPUs. ROCm's has AMD's, which
/// are not described by data.
bool is_gpu_class(std::string_view text)
{
    constexpr std::array<std::string_view, 9> others = {"mem",   "tty", "vc",   "vcs", "block",
                                                        "input", "bsg", "vfio", "kfd"};
    return is_kernel_name(text) && std::ranges::find(others, text) == others.end();
}
constexpr std::string_view no_gpu_class = "is not the name of a class that GPUs are in";

/// "acme.com/gpu"
bool is_cdi_kind(std::string_view text)
{
    const auto slash = text.find('/');
    return text.size() <= longest_name && slash != std::string_view::npos
           && is_file_name(text.substr(0, slash)) && is_file_name(text.substr(slash + 1))
           && text.find('+') == std::string_view::npos;
}

/// Whether the name says that the variable chooses GPUs. PATH or LD_PRELOAD must not pass.
bool is_variable_name(std::string_view text)
{
    constexpr std::array<std::string_view, 8> words = {"VISIBLE", "DEVICE", "DEVICES", "AFFINITY",
                                                       "GPU",     "GPUS",   "NPU",     "NPUS"};
    constexpr std::array<std::string_view, 2> others = {"GPUCTR", "SLURM"};
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const auto parts = base::split(text, '_');
    return text.size() <= longest_name && text.front() >= 'A' && text.front() <= 'Z'
           && std::ranges::all_of(text, fits)
           && std::ranges::find(others, parts.front()) == others.end()
           && std::ranges::find_first_of(parts, words) != parts.end();
}
constexpr std::string_view no_variable_name =
    "is not a name of a variable that chooses GPUs (allowed: capital letters, digits and _, with "
    "one of the words VISIBLE, DEVICE, DEVICES, AFFINITY, GPU, GPUS, NPU and NPUS, and not of "
    "GPUCTR or SLURM)";

/// The text with a digit in place of its placeholder; empty if it has more than one placeholder.
std::string with_digit(std::string_view text)
{
    const auto number = text.find(number_placeholder);
    const auto star = text.find('*');
    std::string sample(text);
    if (number != std::string_view::npos)
        sample.replace(number, number_placeholder.size(), "0");
    else if (star != std::string_view::npos)
        sample.replace(star, 1, "0");
    return sample.find_first_of("*{}") == std::string::npos ? sample : std::string();
}

/// In sysfs a name has '!' for '/'.
bool is_device_name(std::string_view text)
{
    std::string sample = with_digit(text);
    std::ranges::replace(sample, '!', '_');
    return text.size() <= longest_name && text.find('*') == std::string_view::npos
           && text.ends_with(number_placeholder) && is_part_of_word(sample);
}

bool is_node_path(std::string_view text)
{
    constexpr std::string_view above = "/dev/";
    const std::string sample = with_digit(text);
    return text.size() <= longest_path && sample.starts_with(above)
           && std::ranges::all_of(base::split(std::string_view(sample).substr(above.size()), '/'),
                                  is_file_name);
}

/// A directory of libraries in the driver root.
bool is_directory(std::string_view text)
{
    constexpr std::array<std::string_view, 5> others = {"/dev", "/etc", "/proc", "/sys", "/run"};
    const auto names = base::split(text.substr(std::min<std::size_t>(text.size(), 1)), '/');
    return text.size() <= longest_path && text.starts_with('/') && names.size() >= 2
           && std::ranges::all_of(names, is_file_name)
           && std::ranges::none_of(
               others, [&](std::string_view other) { return base::is_below(text, other); });
}

/// "0x1e52"; 0xffff is not a valid id.
std::optional<std::uint16_t> pci_id(std::string_view text)
{
    constexpr std::string_view mark = "0x";
    constexpr std::size_t digits = 4;
    if (text.size() != mark.size() + digits || !text.starts_with(mark))
        return std::nullopt;
    const auto number = base::to_number(text.substr(mark.size()), 16);
    if (!number || *number == std::numeric_limits<std::uint16_t>::max())
        return std::nullopt;
    return static_cast<std::uint16_t>(*number);
}

Result<std::uint16_t> read_id(const Fields& fields, std::string_view key)
{
    const auto fits = [](std::string_view text) { return pci_id(text).has_value(); };
    GPUCTR_TRY(const std::string_view text,
               needed_text(fields, key, fits, "is not of the form 0x1a2b"));
    return pci_id(text).value_or(0);
}

/// An optional list, each element read by `read`.
template <typename T, typename Read>
Result<std::vector<T>> read_list(const Fields& fields, std::string_view key, std::size_t most,
                                 Read read)
{
    std::vector<T> all;
    const Field* const field = fields.find(key);
    if (field == nullptr)
        return all;
    if (field->value->kind != YamlValue::Kind::list)
        return mistake(field->line, base::format("{} is not a list", key));
    if (field->value->items.size() > most)
        return mistake(field->line, base::format("more than {} {}", most, key));
    for (const YamlValue& item : field->value->items) {
        GPUCTR_TRY(T one, read(item));
        all.push_back(std::move(one));
    }
    return all;
}

/// A list of texts.
template <typename Fits>
Result<std::vector<std::string_view>> read_texts(const Fields& fields, std::string_view key,
                                                 Fits fits, std::string_view what)
{
    return read_list<std::string_view>(
        fields, key, most_others, [&](const YamlValue& item) -> Result<std::string_view> {
            if (item.kind != YamlValue::Kind::scalar || item.text.empty() || !fits(item.text))
                return mistake(item.line, base::format("{} {} {}", key, quote(item.text), what));
            return std::string_view(item.text);
        });
}

Result<Maker::Model> read_model(const YamlValue& item)
{
    constexpr std::array<std::string_view, 2> keys = {"device", "name"};
    Maker::Model model;
    GPUCTR_TRY(const Fields fields, Fields::read(item, "a model", keys));
    GPUCTR_TRY(model.device, read_id(fields, "device"));
    GPUCTR_TRY(model.name, needed_text(fields, "name", is_line, no_line));
    return model;
}

Result<std::optional<unsigned>> read_minor(const Fields& fields)
{
    if (!fields.has("minor"))
        return std::optional<unsigned>();
    GPUCTR_TRY(const std::string_view text, fields.text("minor"));
    const auto number = base::to_number(text);
    if (!number || *number > largest_minor)
        return fault(fields, "minor", text, "is no number that a node can have");
    return std::optional(static_cast<unsigned>(*number));
}

/// Checks where the number of a node comes from: a device in a class, or a character driver.
Result<void> check_number(const Fields& fields, const Maker::Node& node,
                          std::string_view class_of_gpus)
{
    const bool is_paired = node.path.find('*') != std::string_view::npos;
    const bool is_numbered = node.path.find(number_placeholder) != std::string_view::npos;
    if (is_numbered && class_of_gpus.empty())
        return fault(fields, "path", node.path,
                     "has {number}, which only GPUs have that are in a class");
    if (node.major.empty() && node.in_class.empty())
        return mistake(fields.line(), "a node needs class or major, which tell its number");
    if (!node.major.empty() && fields.has("class"))
        return mistake(fields.find("class")->line, "a node has either class or major");
    if (!node.major.empty() && is_paired)
        return fault(fields, "path", node.path, "has a *, which needs class");
    if (node.major.empty() && node.minor)
        return mistake(fields.find("minor")->line, "minor is for a node with major");
    if (!node.major.empty() && !node.minor && !is_numbered)
        return mistake(fields.line(), "minor is missing");
    return {};
}

Result<Maker::Node> read_node(const YamlValue& item, std::string_view class_of_gpus)
{
    constexpr std::array<std::string_view, 6> keys = {"path",  "class",      "major",
                                                      "minor", "capability", "optional"};
    Maker::Node node;
    GPUCTR_TRY(const Fields fields, Fields::read(item, "a node", keys));
    GPUCTR_TRY(node.path, needed_text(fields, "path", is_node_path,
                                      "is not a plain path below /dev (allowed: letters, digits, "
                                      ". _ + - and /, and one {number} or *)"));
    GPUCTR_TRY(node.in_class, optional_text(fields, "class", is_gpu_class, no_gpu_class));
    GPUCTR_TRY(node.major, optional_text(fields, "major", is_gpu_class, no_gpu_class));
    GPUCTR_TRY(node.minor, read_minor(fields));
    if (node.in_class.empty() && node.major.empty())
        node.in_class = class_of_gpus;
    GPUCTR_CHECK(check_number(fields, node, class_of_gpus));
    if (fields.has("capability")) {
        GPUCTR_TRY(node.capability, fields.choice("capability", capability_names));
    }
    GPUCTR_TRY(node.optional, fields.flag("optional"));
    return node;
}

Result<Maker::Variable> read_variable(const YamlValue& item)
{
    constexpr std::array<std::string_view, 6> keys = {"name",   "reader", "inside",
                                                      "prefix", "always", "empty-is-unset"};
    Maker::Variable variable;
    GPUCTR_TRY(const Fields fields, Fields::read(item, "a variable", keys));
    GPUCTR_TRY(variable.name, needed_text(fields, "name", is_variable_name, no_variable_name));
    GPUCTR_TRY(variable.reader, fields.choice("reader", reader_names));
    GPUCTR_TRY(variable.inside, fields.choice("inside", inside_names));
    GPUCTR_TRY(variable.prefix, optional_text(fields, "prefix", is_part_of_word, no_part_of_word));
    GPUCTR_TRY(variable.always, fields.flag("always"));
    GPUCTR_TRY(variable.empty_is_unset, fields.flag("empty-is-unset"));
    return variable;
}

Result<void> read_bus(const Fields& fields, OwnedMaker& owned)
{
    Maker& maker = owned.maker;
    if (fields.has("pci-vendor") || maker.device_class.empty()) {
        GPUCTR_TRY(maker.pci_vendor, read_id(fields, "pci-vendor"));
    }
    if (fields.has("pci-class")) {
        GPUCTR_TRY(maker.pci_class, read_id(fields, "pci-class"));
    }
    GPUCTR_TRY(owned.models, read_list<Maker::Model>(fields, "models", most_models, read_model));
    for (const std::string_view key : {"pci-class", "models"})
        if (fields.has(key) && maker.pci_vendor == 0)
            return mistake(fields.find(key)->line, base::format("{} needs pci-vendor", key));
    if (maker.device_class.empty() && !maker.pci_class && owned.models.empty())
        return mistake(fields.line(), "which functions of pci-vendor are GPUs is not said (needed: "
                                      "class, pci-class or models)");
    return {};
}

/// How GPUs are found.
Result<void> read_gpus(const YamlValue& section, OwnedMaker& owned)
{
    constexpr std::array<std::string_view, 9> keys = {
        "driver", "class", "name", "pci-vendor", "pci-class", "models", "order", "uuid", "model"};
    constexpr std::array<std::string_view, 2> orders = {"number", "address"};
    Maker& maker = owned.maker;
    GPUCTR_TRY(const Fields fields, Fields::read(section, "gpus", keys));
    GPUCTR_TRY(maker.driver, needed_text(fields, "driver", is_kernel_name, no_kernel_name));
    GPUCTR_TRY(maker.device_class, optional_text(fields, "class", is_gpu_class, no_gpu_class));
    if (!maker.device_class.empty()) {
        GPUCTR_TRY(maker.device_name,
                   needed_text(fields, "name", is_device_name,
                               "is not a name that ends in {number} (allowed: letters, digits, . _ "
                               "- !)"));
    }
    for (const std::string_view key : {"name", "order"})
        if (fields.has(key) && maker.device_class.empty())
            return mistake(fields.find(key)->line,
                           base::format("{} needs class: functions have no numbers", key));
    GPUCTR_CHECK(read_bus(fields, owned));
    maker.by_address = true;
    if (!maker.device_class.empty()) {
        GPUCTR_TRY(const std::string_view order, fields.choice("order", orders));
        maker.by_address = order == "address";
    }
    GPUCTR_TRY(maker.uuid, optional_text(fields, "uuid", is_kernel_name, no_kernel_name));
    GPUCTR_TRY(maker.model, optional_text(fields, "model", is_kernel_name, no_kernel_name));
    return {};
}

/// There must be such a node, without which a GPU cannot be used.
bool is_what_a_gpu_needs(const Maker::Node& node)
{
    return !node.optional && with_digit(node.path) != node.path;
}

Result<void> read_lists(const Fields& fields, OwnedMaker& owned)
{
    const auto node = [&](const YamlValue& item) {
        return read_node(item, owned.maker.device_class);
    };
    GPUCTR_TRY(owned.nodes, read_list<Maker::Node>(fields, "nodes", most_nodes, node));
    if (owned.nodes.empty())
        return mistake(fields.line(), "nodes are missing");
    if (std::ranges::none_of(owned.nodes, is_what_a_gpu_needs))
        return mistake(fields.find("nodes")->line,
                       "no node is of one GPU and needed (needed: one with {number} or * in its "
                       "path that is not optional)");
    GPUCTR_TRY(owned.variables,
               read_list<Maker::Variable>(fields, "variables", most_others, read_variable));
    GPUCTR_TRY(owned.needs, read_texts(fields, "needs", is_line, no_line));
    GPUCTR_TRY(owned.directories,
               read_texts(fields, "directories", is_directory,
                          "is not a plain absolute path for libraries (allowed: letters, digits, . "
                          "_ + - and /)"));
    return {};
}

} // namespace

Result<std::shared_ptr<const Maker>> read_maker(std::shared_ptr<const YamlValue> document,
                                                const YamlValue& section, std::string_view name)
{
    constexpr std::array<std::string_view, 8> keys = {
        "title", "kind", "module", "gpus", "nodes", "variables", "needs", "directories"};

    const auto owned = std::make_shared<OwnedMaker>();
    owned->document = std::move(document);
    Maker& maker = owned->maker;
    maker.name = name;
    GPUCTR_TRY(const Fields fields, Fields::read(section, "a maker", keys));
    GPUCTR_TRY(maker.title, needed_text(fields, "title", is_line, no_line));
    GPUCTR_TRY(maker.kind,
               needed_text(fields, "kind", is_cdi_kind, "is not of the form vendor.com/class"));
    GPUCTR_TRY(maker.module, needed_text(fields, "module", is_kernel_name, no_kernel_name));
    GPUCTR_TRY(const Field gpus, fields.need("gpus"));
    GPUCTR_CHECK(read_gpus(*gpus.value, *owned));
    GPUCTR_CHECK(read_lists(fields, *owned));
    maker.models = owned->models;
    maker.nodes = owned->nodes;
    maker.variables = owned->variables;
    maker.needs = owned->needs;
    maker.directories = owned->directories;
    return std::shared_ptr<const Maker>(owned, &owned->maker);
}

} // namespace gpucontainer::config

// SPDX-License-Identifier: MIT
#include "config/catalogue_file.hpp"
#include "config/names.hpp"
#include "drivers/described_gpus.hpp"
#include "drivers/described_maker.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "export/json.hpp"
#include "export/read_host.hpp"
#include "search/site_catalogue.hpp"

#include "base/format.hpp"
#include "fuzz/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "fuzz/yaml_text.hpp"

#include <algorithm>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using config::FileRule;

const char* kind_of(const FileRule& rule)
{
    switch (rule.kind) {
    case FileRule::Kind::library:
        return "library";
    case FileRule::Kind::tool:
        return "tool";
    case FileRule::Kind::data:
        return "data";
    }
    return "";
}

std::string to_yaml(const std::vector<FileRule>& rules)
{
    std::string yaml = "vendor: " + rules.front().vendor + "\nfiles:\n";
    for (const FileRule& rule : rules) {
        yaml += base::format("  - {}: {}\n    capability: {}\n    also: {}\n    reason: {}\n",
                             kind_of(rule), in_quotes(rule.name), rule.capability, rule.also,
                             in_quotes(rule.reason));
        if (rule.kind == FileRule::Kind::library)
            yaml += base::format("    entry: {}\n    unversioned: {}\n    own: {}\n", rule.entry,
                                 rule.unversioned, rule.own);
        if (!rule.icd.empty())
            yaml += base::format("    icd: {}\n", in_quotes(rule.icd));
        if (!rule.module.empty())
            yaml += base::format("    module: {}\n", in_quotes(rule.module));
    }
    return yaml;
}

bool is_same(const FileRule& left, const FileRule& right)
{
    return left.vendor == right.vendor && left.kind == right.kind && left.name == right.name
           && left.capability == right.capability && left.also == right.also
           && left.entry == right.entry && left.unversioned == right.unversioned
           && left.reason == right.reason && left.icd == right.icd && left.module == right.module
           && left.own == right.own;
}

void check_round_trip(const std::vector<FileRule>& rules)
{
    const auto again = config::parse_catalogue(to_yaml(rules));
    demand(again.has_value(), "what was read can be written");
    demand(
        std::equal(rules.begin(), rules.end(), again->rules.begin(), again->rules.end(), is_same),
        "and is the same then");
}

bool is_known(const search::MergedCatalogue& catalogue, const FileRule& rule)
{
    const auto kind = *model::parse_file_kind(kind_of(rule));
    return model::find_rule(catalogue.of_driver(), kind, rule.name) != nullptr
           || model::find_rule(catalogue.of_site(), kind, rule.name) != nullptr;
}

/// Over the catalogue that is built in; twice, as two files of a directory may
/// say the same.
void check_merged(const std::vector<FileRule>& rules)
{
    search::SiteCatalogue site;
    site.rules = rules;
    site.rules.insert(site.rules.end(), rules.begin(), rules.end());
    const search::MergedCatalogue merged("nvidia", drivers::nvidia_catalogue(), site);
    demand(merged.of_driver().size() >= drivers::nvidia_catalogue().size(),
           "no rule that is built in is lost");
    demand(merged.of_driver().size() + merged.of_site().size()
               <= drivers::nvidia_catalogue().size() + rules.size(),
           "a rule counts once");
    for (const FileRule& rule : rules)
        demand(rule.vendor != "nvidia" || is_known(merged, rule), "a rule of the site counts");
}

bool is_printable(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// A host that has each device which the description may mean, and others.
class Devices final : public host::Enumerator {
public:
    explicit Devices(const config::Maker& maker) : maker_(maker) {}

    int numa_node(const std::string& /*address*/) override { return 0; }
    std::uint16_t device_id(const std::string& /*address*/) override { return 0; }

    Result<std::vector<host::PciDevice>> pci_functions(std::uint16_t vendor_id) override
    {
        std::vector<host::PciDevice> functions;
        for (unsigned n = 0; n < count; ++n) {
            const std::uint16_t device = maker_.models.empty()
                                             ? std::uint16_t{1}
                                             : maker_.models[n % maker_.models.size()].device;
            const std::uint32_t code = maker_.pci_class.value_or(0x1200) * 0x100U;
            functions.push_back({address(n), vendor_id, device, code,
                                 n + 1 < count ? std::string(maker_.driver) : "vfio-pci", 0});
        }
        return functions;
    }

    Result<std::vector<host::PciDevice>> functions_of_driver(const std::string& /*driver*/,
                                                             std::uint16_t /*vendor_id*/) override
    {
        return std::vector<host::PciDevice>();
    }

    Result<std::vector<host::ClassDevice>> class_devices(const std::string& name) override
    {
        demand(is_file_name(name), "a class is a directory below /sys/class");
        std::vector<host::ClassDevice> devices;
        for (unsigned n = 0; n < count; ++n)
            devices.push_back({drivers::with_number(maker_.device_name, count - n),
                               base::format("/dev/node{}", count - n), 1, n, address(n),
                               std::string(maker_.driver), address(n)});
        return devices;
    }

    Result<std::optional<host::ClassDevice>> character_device(unsigned /*major*/,
                                                              unsigned /*minor*/) override
    {
        return std::optional<host::ClassDevice>();
    }

private:
    static constexpr unsigned count = 3;

    static std::string address(unsigned n) { return base::format("0000:{:02x}:00.0", n); }

    const config::Maker& maker_;
};

void check_nodes(const model::DriverStack& driver)
{
    demand(driver.nodes.empty(), "a host without nodes has none");
    for (const model::DeviceNode& node : driver.missing_nodes)
        demand(is_node_path(node.path) && node.gpu < static_cast<int>(driver.gpus.size()),
               "a node is below /dev, and of a GPU that is there");
    for (const model::Gpu& gpu : driver.gpus)
        demand(std::ranges::find(driver.missing_nodes, static_cast<int>(gpu.index),
                                 &model::DeviceNode::gpu)
                   != driver.missing_nodes.end(),
               "each GPU needs a node");
}

/// What a container's programs and loader go by is nobody's to change.
void check_variables(const model::DriverStack& driver)
{
    for (const model::VisibleDevices& variable : driver.visible_devices)
        demand(variable.name.find('_') != std::string::npos && !variable.name.starts_with("LD_P")
                   && !variable.name.starts_with("LD_L") && !variable.name.starts_with("GPUCTR_"),
               "a variable is one that chooses GPUs");
}

/// What was found is read back from a record of it.
void check_record(const model::DriverStack& driver)
{
    const auto record = exports::host_from_json(exports::host_to_json({&driver, 1}, {}, {}));
    demand(record.has_value(), "a driver that was found can be recorded");
    demand(record->drivers.front().gpus == driver.gpus
               && record->drivers.front().visible_devices == driver.visible_devices
               && record->drivers.front().missing_nodes == driver.missing_nodes,
           "and is the same then");
}

void check_maker(const config::Maker& maker)
{
    static Tree tree;
    (void)tree.fill(
        base::format("== sys/module/{}/version\n1.2\n== proc/devices\n240 acme\n", maker.module));
    demand(config::is_vendor_name(maker.name) && is_printable(maker.title), "a maker has a name");
    for (const std::string_view name : {maker.module, maker.driver})
        demand(is_file_name(name), "what the kernel calls it is one component of a path");
    for (const std::string_view name : {maker.uuid, maker.model})
        demand(name.empty() || is_file_name(name), "and so is an attribute");
    for (const drivers::DescribedPlace& place : drivers::kernel_places_of(maker))
        demand(drivers::is_kernel_place(place.path) && place.path.find("/.") == std::string::npos,
               "a place of the kernel is one of sysfs, or the list of character drivers");
    Devices devices(maker);
    const auto root = host::DriverRoot::open(tree.path());
    demand(root.has_value(), "there is a driver root");
    const drivers::Sources sources = {devices, *root, tree.path(), "", {}, ""};
    const auto found = drivers::described_vendor(maker, {}).detect(sources);
    demand(found && *found, "GPUs are found");
    model::DriverStack driver = **found;
    driver.cdi_kind = maker.kind;
    check_gpus(driver.gpus);
    check_nodes(driver);
    check_variables(driver);
    check_record(driver);
}

} // namespace

/// A site's catalogue file, alone and over the built-in one, and the maker that it describes
/// on a host of its own making.
void run(std::string_view input)
{
    const auto file = config::parse_catalogue(input);
    if (file && file->maker)
        check_maker(*file->maker);
    if (!file || file->rules.empty())
        return;
    for (const FileRule& rule : file->rules) {
        const bool is_path = rule.name.find('/') != std::string::npos;
        demand(config::check_name(rule).has_value() && !rule.reason.empty(),
               "a rule names a file, with a reason");
        demand(is_path == (rule.kind == FileRule::Kind::data), "data has a path, others a name");
    }
    check_round_trip(file->rules);
    check_merged(file->rules);
}

} // namespace gpucontainer::fuzz

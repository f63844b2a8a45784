// SPDX-License-Identifier: MIT
#include "journal/journal.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "record/driver.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace gpucontainer::journal {

using program::FileMark;
using program::Operation;
using program::Program;
namespace {

using nlohmann::json;

constexpr const char* schema = "gpucontainer/journal/1";
constexpr std::string_view extension = ".json";

constexpr std::array<std::pair<Progress, std::string_view>, 3> progress_names = {{
    {Progress::begun, "begun"},
    {Progress::complete, "complete"},
    {Progress::partly_undone, "partly undone"},
}};

std::string progress_to_json(Progress progress)
{
    const auto* const found =
        std::find_if(progress_names.begin(), progress_names.end(),
                     [&](const auto& entry) { return entry.first == progress; });
    return std::string(found->second);
}

Progress progress_from_json(const json& value)
{
    const auto text = value.get<std::string>();
    const auto* const found = std::find_if(progress_names.begin(), progress_names.end(),
                                           [&](const auto& entry) { return entry.second == text; });
    if (found == progress_names.end())
        throw std::invalid_argument("no such progress");
    return found->first;
}

/// An integer within the range. The JSON library would silently truncate others.
template <typename Number>
void read(const json& value, Number& number)
{
    const bool fits =
        value.is_number_unsigned()
            ? std::in_range<Number>(value.get<std::uint64_t>())
            : value.is_number_integer() && std::in_range<Number>(value.get<std::int64_t>());
    if (!fits)
        throw std::out_of_range("not a number that fits");
    number = value.get<Number>();
}

/// Text that must be the same when it is read again. Names and paths need not be UTF-8; those are
/// written as bytes in hexadecimal.
json text_to_json(std::string_view text)
{
    if (base::is_utf8(text))
        return text;
    std::string bytes;
    for (const char c : text)
        bytes += base::format("{:02x}", static_cast<unsigned char>(c));
    return {{"bytes", std::move(bytes)}};
}

std::string text_from_json(const json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    const auto bytes = value.at("bytes").get<std::string>();
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        const auto number = base::to_number(std::string_view(bytes).substr(i, 2), 16);
        if (!number || bytes.size() % 2 != 0)
            throw std::invalid_argument("no bytes");
        text += static_cast<char>(*number);
    }
    return text;
}

json mark_to_json(const FileMark& mark)
{
    return json::array({mark.device, mark.inode, mark.size, mark.mtime_ns});
}

FileMark mark_from_json(const json& value)
{
    FileMark mark = {};
    read(value.at(0), mark.device);
    read(value.at(1), mark.inode);
    read(value.at(2), mark.size);
    read(value.at(3), mark.mtime_ns);
    return mark;
}

/// Content is kept to recognise our own file after a crash. That of the loader cache is not kept:
/// the cache is recognised by its entries.
json operation_to_json(const Program& program, const Operation& operation)
{
    json value = {{"step", static_cast<std::uint32_t>(operation.step)},
                  {"flags", operation.flags},
                  {"path", text_to_json(program.text(operation.path))},
                  {"done", operation.done},
                  {"expected", mark_to_json(operation.expected)},
                  {"made", mark_to_json(operation.made)},
                  {"parent", {operation.parent_before, operation.parent_after}},
                  {"mount_id", operation.mount_id}};
    if (operation.parent_inode != 0)
        value["directory"] = {operation.parent_device, operation.parent_inode,
                              operation.parent_mount};
    if (operation.mounts_below != program::any_number)
        value["below"] = {operation.mounts_below, operation.newest_below};
    const bool kept = operation.step != program::Step::replace_file;
    value["data"] = text_to_json({program.text(operation.data), kept ? operation.data_size : 0});
    return value;
}

void add_from_json(const json& value, program::ProgramBuilder& builder)
{
    std::uint32_t step = 0;
    read(value.at("step"), step);
    const std::string path = text_from_json(value.at("path"));
    if (step > program::last_step || !path.starts_with('/') || path.find('\0') != std::string::npos)
        throw std::invalid_argument("no such step");
    Operation& operation =
        builder.add(static_cast<program::Step>(step), path, text_from_json(value.at("data")));
    read(value.at("flags"), operation.flags);
    read(value.at("done"), operation.done);
    if (operation.done > 1)
        throw std::invalid_argument("neither done nor not");
    operation.expected = mark_from_json(value.at("expected"));
    operation.made = mark_from_json(value.at("made"));
    read(value.at("parent").at(0), operation.parent_before);
    read(value.at("parent").at(1), operation.parent_after);
    read(value.at("mount_id"), operation.mount_id);
    // Earlier journals lack it.
    if (const auto directory = value.find("directory"); directory != value.end()) {
        read(directory->at(0), operation.parent_device);
        read(directory->at(1), operation.parent_inode);
        read(directory->at(2), operation.parent_mount);
    }
    if (const auto below = value.find("below"); below != value.end()) {
        read(below->at(0), operation.mounts_below);
        read(below->at(1), operation.newest_below);
    }
}

json drivers_to_json(const std::vector<plan::UsedDriver>& drivers)
{
    json array = json::array();
    for (const plan::UsedDriver& driver : drivers) {
        json gpus = json::array();
        for (const model::Gpu& gpu : driver.gpus)
            gpus.push_back(json(record::to_json(gpu)));
        array.push_back(
            {{"vendor", driver.vendor}, {"version", driver.version}, {"gpus", std::move(gpus)}});
    }
    return array;
}

/// Earlier journals have fewer fields, and -1 and "" for unknown.
json with_all_fields(json gpu)
{
    const json unknown = "";
    for (const char* const name : {"uuid", "pci_address", "architecture"})
        if (!gpu.contains(name) || gpu[name] == unknown)
            gpu[name] = nullptr;
    for (const char* const name : {"minor", "numa_node"})
        if (gpu.contains(name) && gpu[name] == -1)
            gpu[name] = nullptr;
    if (!gpu.contains("names"))
        gpu["names"] = json::array();
    if (!gpu.contains("parts"))
        gpu["parts"] = 1;
    return gpu;
}

plan::UsedDriver driver_from_json(const json& value)
{
    plan::UsedDriver driver;
    driver.vendor = value.at("vendor");
    driver.version = value.at("version");
    for (const json& each : value.at("gpus")) {
        const json gpu = with_all_fields(each);
        // It is only shown to people: a mistake in it must not prevent undo.
        record::Fields::Problem ignored;
        driver.gpus.push_back(record::read_gpu(record::Fields(gpu, "gpus", ignored)));
    }
    return driver;
}

/// Null if nothing is added.
json grant_to_json(const Grant& grant)
{
    if (grant.rules.empty())
        return {};
    json rules = json::array();
    for (const DeviceRule& rule : grant.rules)
        rules.push_back({rule.device.major, rule.device.minor, rule.access});
    return {{"group", text_to_json(grant.group)},
            {"id", {grant.id.device, grant.id.inode}},
            {"rules", std::move(rules)}};
}

Grant grant_from_json(const json& value)
{
    Grant grant;
    grant.group = text_from_json(value.at("group"));
    read(value.at("id").at(0), grant.id.device);
    read(value.at("id").at(1), grant.id.inode);
    for (const json& each : value.at("rules")) {
        DeviceRule rule;
        read(each.at(0), rule.device.major);
        read(each.at(1), rule.device.minor);
        read(each.at(2), rule.access);
        if ((rule.access & ~cgroup::may_use) != 0)
            throw std::invalid_argument("no such access");
        grant.rules.push_back(rule);
    }
    return grant;
}

/// For the journal's name.
std::string boot_id_from_json(const json& value)
{
    auto boot_id = value.get<std::string>();
    if (boot_id.find_first_not_of("0123456789abcdef-") != std::string::npos)
        throw std::invalid_argument("no such boot");
    return boot_id;
}

json ground_to_json(const Ground& ground)
{
    return {{"device", ground.id.device},
            {"inode", ground.id.inode},
            {"birth", ground.id.birth_ns},
            {"subvolume", ground.id.subvolume},
            {"path", text_to_json(ground.path)},
            {"is_layer", ground.is_layer},
            {"shown_at", text_to_json(ground.shown_at)},
            {"is_lasting", ground.is_lasting},
            {"file_system", ground.file_system},
            {"mounted_device", ground.device},
            {"handle", text_to_json(ground.handle)}};
}

std::string path_from_json(const json& value)
{
    std::string path = text_from_json(value);
    if ((!path.empty() && path[0] != '/') || path.find('\0') != std::string::npos)
        throw std::invalid_argument("no path");
    return path;
}

Ground ground_from_json(const json& value)
{
    Ground ground;
    read(value.at("device"), ground.id.device);
    read(value.at("inode"), ground.id.inode);
    read(value.at("birth"), ground.id.birth_ns);
    read(value.at("subvolume"), ground.id.subvolume);
    ground.path = path_from_json(value.at("path"));
    ground.is_layer = value.at("is_layer");
    ground.shown_at = path_from_json(value.at("shown_at"));
    ground.is_lasting = value.at("is_lasting");
    read(value.at("file_system"), ground.file_system);
    read(value.at("mounted_device"), ground.device);
    ground.handle = text_from_json(value.at("handle"));
    return ground;
}

Journal from_json(const json& document)
{
    Journal journal;
    read(document.at("device"), journal.root.device);
    read(document.at("inode"), journal.root.inode);
    read(document.at("birth"), journal.root.birth_ns);
    if (const auto subvolume = document.find("subvolume"); subvolume != document.end())
        read(*subvolume, journal.root.subvolume);
    read(document.at("mount_namespace"), journal.key.from.mount_namespace);
    journal.key.from.boot_id = boot_id_from_json(document.at("boot_id"));
    read(document.at("mount_id"), journal.key.mount_id);
    journal.key.root_birth_ns = journal.root.birth_ns;
    journal.root_path = text_from_json(document.at("root_path"));
    read(document.at("since"), journal.since);
    if (const auto since = document.find("changing_since"); since != document.end())
        read(*since, journal.changing_since);
    journal.bound_on_itself = document.at("bound_on_itself");
    read(document.at("mounts_below"), journal.mounts_below);
    journal.progress = progress_from_json(document.at("progress"));
    journal.writes_root = document.at("writes_root");
    journal.persistent = document.at("persistent");
    if (const auto ground = document.find("ground"); ground != document.end())
        journal.ground = ground_from_json(*ground);
    journal.identity = text_from_json(document.at("identity"));
    journal.tree_path = text_from_json(document.at("tree_path"));
    for (const json& driver : document.at("drivers"))
        journal.drivers.push_back(driver_from_json(driver));
    const auto grant = document.find("device_cgroup");
    if (grant != document.end() && !grant->is_null()) // earlier journals have none
        journal.grant = grant_from_json(*grant);
    program::ProgramBuilder builder;
    for (const json& operation : document.at("operations"))
        add_from_json(operation, builder);
    journal.program = std::move(builder).build();
    return journal;
}

} // namespace

std::string file_name(const SetUpKey& key)
{
    return base::format("{}_{}_{}_{}{}", key.from.boot_id, key.from.mount_namespace, key.mount_id,
                        static_cast<std::uint64_t>(key.root_birth_ns), extension);
}

std::optional<SetUpKey> parse_file_name(std::string_view name)
{
    if (!name.ends_with(extension))
        return std::nullopt;
    name.remove_suffix(extension.size());
    const auto parts = base::split(name, '_');
    constexpr std::size_t part_count = 4;
    if (parts.size() != part_count)
        return std::nullopt;
    const auto mount_namespace = base::to_number(parts[1]);
    const auto mount_id = base::to_number(parts[2]);
    const auto birth = base::to_number(parts[3]);
    if (!mount_namespace || !mount_id || !birth)
        return std::nullopt;
    return SetUpKey{
        {*mount_namespace, std::string(parts[0])}, *mount_id, static_cast<std::int64_t>(*birth)};
}

std::string to_text(const Journal& journal, const Program& program)
{
    json operations = json::array();
    for (const Operation& operation : program.operations())
        operations.push_back(operation_to_json(program, operation));
    json document = {{"schema", schema},
                     {"boot_id", journal.key.from.boot_id},
                     {"mount_namespace", journal.key.from.mount_namespace},
                     {"mount_id", journal.key.mount_id},
                     {"device", journal.root.device},
                     {"inode", journal.root.inode},
                     {"birth", journal.root.birth_ns},
                     {"subvolume", journal.root.subvolume},
                     {"root_path", text_to_json(journal.root_path)},
                     {"since", journal.since},
                     {"changing_since", journal.changing_since},
                     {"bound_on_itself", journal.bound_on_itself},
                     {"mounts_below", journal.mounts_below},
                     {"progress", progress_to_json(journal.progress)},
                     {"writes_root", journal.writes_root},
                     {"persistent", journal.persistent},
                     {"identity", text_to_json(journal.identity)},
                     {"tree_path", text_to_json(journal.tree_path)},
                     {"drivers", drivers_to_json(journal.drivers)},
                     {"device_cgroup", grant_to_json(journal.grant)},
                     {"operations", std::move(operations)}};
    if (journal.ground)
        document["ground"] = ground_to_json(*journal.ground);
    // What kernel and firmware say about a GPU is only shown to people.
    return document.dump(-1, ' ', true, json::error_handler_t::replace);
}

Result<Journal> from_text(const std::string& name, const std::string& text)
try {
    const json document = json::parse(text);
    if (document.at("schema") != schema)
        return Error(Errc::apply, "journal " + name + ": of another version");
    return from_json(document);
} catch (const std::exception& exception) {
    return Error(Errc::apply, "journal " + name + ": damaged: " + exception.what())
        .with_object(name)
        .with_hint("remove it once you have looked after what it stands for");
}

void forget_lost_mounts(Journal& journal, Origin origin)
{
    if (origin == Origin::here)
        return;
    journal.bound_on_itself = false;
    if (origin == Origin::earlier_boot)
        journal.grant = {}; // another cgroup may have its number now
    for (Operation& operation : Program(journal.program.get()).operations()) {
        operation.parent_mount = 0;
        if (is_mount(operation))
            operation.done = 0;
    }
}

} // namespace gpucontainer::journal

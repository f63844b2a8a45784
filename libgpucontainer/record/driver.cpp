// SPDX-License-Identifier: MIT
#include "record/driver.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "record/driver_fields.hpp"
#include "record/registration.hpp"

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
        if (!is_for(one.manner, file.kind))
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

void check(const model::Registration& registration, const Fields& fields)
{
    if (const char* const problem = problem_with_name(registration))
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
    const std::size_t whole = driver.whole_gpus();
    for (const Gpu& gpu : driver.gpus)
        if (gpu.is_instance() != (gpu.index >= whole) || gpu.parent >= static_cast<int>(whole))
            fields.complain("gpus", "an instance that does not come after all GPUs, or of no GPU");
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
    for (const model::Mask& mask : driver.masks)
        if (!mask.directory && !mask.shown.empty())
            fields.complain("masks", "one is a file and shows entries");
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
        if (!rule.may_be_missing || fields_.has(name))
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
        if (!rule.may_be_missing || fields_.has(name))
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

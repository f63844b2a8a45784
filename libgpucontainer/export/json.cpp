// SPDX-License-Identifier: MIT
#include "export/json.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "record/driver.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace gpucontainer::exports {
namespace {

using json = record::Json;
using record::array_of;
using record::number_or_null;
using record::text_or_null;
using record::to_json;

json to_json(const detect::Mark& mark) { return {{"path", mark.path}, {"state", mark.state}}; }

json to_json(const plan::Item& item)
{
    return {{"kind", plan::name(item.kind())},
            {"source", item.source()},
            {"target", item.target},
            {"options", item.options()},
            {"vendor", text_or_null(item.owner.vendor)},
            {"gpu", number_or_null(item.owner.gpu)},
            {"reason", item.reason}};
}

json to_json(const plan::DeviceRule& rule)
{
    return {{"type", "c"}, {"major", rule.major}, {"minor", rule.minor}, {"access", "rw"}};
}

json to_json(const plan::Variable& variable)
{
    return {{"action", variable.action}, {"name", variable.name}, {"value", variable.value}};
}

/// The driver of a set-up, without the source of its version, which is not kept.
json used_to_json(const plan::UsedDriver& driver)
{
    const auto convert = [](const model::Gpu& gpu) { return to_json(gpu); };
    return {{"vendor", driver.vendor},
            {"version", text_or_null(driver.version)},
            {"gpus", array_of(driver.gpus, convert)}};
}

json planned_to_json(const plan::UsedDriver& driver)
{
    json document = used_to_json(driver);
    if (driver.version_source)
        document["version_source"] = model::name(*driver.version_source);
    return document;
}

/// UTC in the form of RFC 3339; null if unknown. gmtime_r() is not used, because it reads the time
/// zone from the environment and a file.
json time_to_json(std::int64_t seconds)
{
    constexpr std::int64_t end_of_year_9999 = 253402300799;
    if (seconds <= 0 || seconds > end_of_year_9999)
        return nullptr;
    const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    return base::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                        clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

json to_json(const apply::SetUp& set_up)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return {{"root", base::is_utf8(set_up.root_path) ? text_or_null(set_up.root_path) : nullptr},
            {"drivers", array_of(set_up.drivers, used_to_json)},
            {"tree_path", text_or_null(set_up.tree_path)},
            {"writes_root", set_up.writes_root},
            {"since", time_to_json(set_up.since)},
            {"mount_namespace", set_up.key.from.mount_namespace},
            {"origin", apply::name(set_up.origin)},
            {"process", set_up.process > 0 ? json(set_up.process) : json()},
            {"findings", array_of(set_up.findings, convert)}};
}

json to_json(const explain::Answer& answer)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return {{"kind", explain::name(answer.kind)},
            {"name", answer.name},
            {"vendor", answer.vendor},
            {"given", answer.given},
            {"path", text_or_null(answer.path)},
            {"reason", answer.reason},
            {"capability", model::name(answer.capability)},
            {"items", array_of(answer.items, convert)},
            {"others", array_of(answer.others, convert)},
            {"remedies", answer.remedies}};
}

/// Names in an image need not be UTF-8; JSON must be.
std::string dump(const json& document)
{
    const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace);
    return base::without_control_characters(text) + "\n";
}

} // namespace

std::string host_to_json(std::span<const model::DriverStack> drivers,
                         std::span<const model::Finding> findings,
                         std::span<const detect::Mark> fingerprint)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/list/1"},
                 {"drivers", array_of(drivers, convert)},
                 {"findings", array_of(findings, convert)},
                 {"fingerprint", array_of(fingerprint, convert)}});
}

std::string plan_to_json(const plan::Plan& plan)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/plan/1"},
                 {"drivers", array_of(plan.drivers, planned_to_json)},
                 {"layout", plan::name(plan.layout)},
                 {"tree_path", text_or_null(plan.tree_path)},
                 {"writes_root", plan.writes_root},
                 {"lock", plan.lock},
                 {"mount_label", text_or_null(plan.mount_label)},
                 {"items", array_of(plan.items, convert)},
                 {"environment", array_of(plan.variables, convert)},
                 {"device_rules", array_of(plan::device_rules(plan), convert)},
                 {"groups", plan.groups},
                 {"findings", array_of(plan.findings, convert)}});
}

std::string answers_to_json(std::span<const explain::Answer> answers)
{
    return dump(
        {{"schema", "gpucontainer/why/1"},
         {"answers", array_of(answers, [](const auto& answer) { return to_json(answer); })}});
}

std::string set_ups_to_json(std::span<const apply::SetUp> set_ups)
{
    return dump(
        {{"schema", "gpucontainer/status/1"},
         {"setups", array_of(set_ups, [](const auto& set_up) { return to_json(set_up); })}});
}

std::string diagnosis_to_json(const check::Diagnosis& diagnosis)
{
    const auto driver = [](const model::DriverStack& one) {
        return json{{"vendor", one.vendor},
                    {"version", text_or_null(one.version)},
                    {"gpus", array_of(one.gpus, [](const auto& gpu) { return to_json(gpu); })}};
    };
    const auto finding = [](const auto& one) { return to_json(one); };
    const auto worst = [&]() -> json {
        model::Severity severity = model::Severity::note;
        for (const model::Finding& one : diagnosis.findings)
            severity = std::max(severity, one.severity());
        return severity >= model::Severity::warning ? json(model::name(severity)) : json();
    };
    return dump({{"schema", "gpucontainer/check/1"},
                 {"drivers", array_of(*diagnosis.drivers, driver)},
                 {"worst", worst()},
                 {"findings", array_of(diagnosis.findings, finding)}});
}

std::string cdi_listing_to_json(const cdi::Listing& listing)
{
    const auto device = [](const cdi::ListedDevice& one) {
        return json{{"name", one.name}, {"path", one.path}, {"state", cdi::name(one.state)}};
    };
    const auto finding = [](const auto& one) { return to_json(one); };
    return dump({{"schema", "gpucontainer/cdi/1"},
                 {"devices", array_of(listing.devices, device)},
                 {"findings", array_of(listing.findings, finding)}});
}

} // namespace gpucontainer::exports

// SPDX-License-Identifier: MIT
#include "export/read_host.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "record/driver.hpp"
#include "record/fields.hpp"

#include <algorithm>

namespace gpucontainer::exports {

using model::DriverStack;

namespace {

// More than any host has, and little enough to be read quickly.
constexpr std::size_t largest_document = 4U << 20U;
constexpr std::size_t deepest = 64; // more than records of later versions have
constexpr const char* usual_record = "a record is what `gpuctr-setup list --format json` prints";

detect::Mark read_mark(const record::Fields& fields)
{
    return {fields.text("path", record::is_path), fields.text("state", record::is_text)};
}

/// Checks that each vendor occurs at most once. It may be unknown here, because a site may
/// describe it: the record is compared with this host before a plan is carried out.
void check_vendors(const std::vector<DriverStack>& drivers, const record::Fields& fields)
{
    for (const DriverStack& driver : drivers) {
        const auto same = [&](const auto& other) { return other.vendor == driver.vendor; };
        if (std::ranges::count_if(drivers, same) > 1)
            fields.complain("drivers", base::format("{} more than once", driver.vendor));
    }
}

Result<record::Fields::Json> parse(std::string_view text)
{
    if (text.size() > largest_document)
        return Error(Errc::usage, base::format("larger than {} bytes", largest_document));
    // The parser stops at a terminator, and passes over what comes after it.
    const auto end = text.find('\0');
    if (end != std::string_view::npos
        && text.find_first_not_of('\0', end) != std::string_view::npos)
        return Error(Errc::usage, "no JSON document: a NUL is in it").with_hint(usual_record);
    if (base::json_depth(text) > deepest)
        return Error(Errc::usage, base::format("nested in more than {} levels", deepest))
            .with_hint(usual_record);
    try {
        return record::Fields::Json::parse(text);
    } catch (const record::Fields::Json::exception& exception) {
        return Error(Errc::usage,
                     base::format("no JSON document: {}", base::json_fault(exception.what())))
            .with_hint(usual_record);
    }
}

} // namespace

Result<HostRecord> host_from_json(std::string_view text)
{
    GPUCTR_TRY(const record::Fields::Json document, parse(text), "host record");
    record::Fields::Problem problem;
    const record::Fields fields(document, "", problem);
    if (fields.text("schema", record::is_text) != "gpucontainer/list/1")
        fields.complain("schema", "not gpucontainer/list/1");
    HostRecord record;
    record.drivers = fields.list("drivers", record::most_drivers, record::read_driver);
    record.findings = fields.list("findings", record::most_others, record::read_finding);
    record.fingerprint = fields.list("fingerprint", record::most_others, read_mark);
    check_vendors(record.drivers, fields);
    if (problem)
        return (*std::move(problem)).with_hint(usual_record).context("host record");
    return record;
}

} // namespace gpucontainer::exports

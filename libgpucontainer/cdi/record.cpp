// SPDX-License-Identifier: MIT
#include "cdi/record.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "cdi/names.hpp"
#include "cdi/value.hpp"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace gpucontainer::cdi {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* schema = "gpucontainer/cdi-record/1";

/// Adds the marks of a list; what is none is passed over.
void read_marks(const Value& list, std::vector<Mark>& marks)
{
    for (const Value& mark : list.items)
        if (mark.type == Value::Type::map && mark.items.size() == 4
            && mark.items[0].text == "object" && mark.items[2].text == "state")
            marks.push_back({mark.items[1].text, mark.items[3].text});
}

} // namespace

std::string record_path(const std::string& files_directory, const std::string& kind)
{
    return base::format("{}/{}.record", files_directory, file_name_of(kind));
}

std::string installed_path(const std::string& files_directory, const std::string& kind)
{
    return base::format("{}/{}.installed", files_directory, file_name_of(kind));
}

std::string to_text(const Record& record)
{
    OrderedJson marks = OrderedJson::array();
    for (const Mark& mark : record.marks)
        marks.push_back({{"object", mark.object}, {"state", mark.state}});
    const OrderedJson document = {{"schema", schema}, {"path", record.path}, {"marks", marks}};
    return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::optional<Record> parse_record(std::string_view text)
{
    const auto document = parse_json_value(text); // which limits size and depth
    if (!document || document->type != Value::Type::map)
        return std::nullopt;
    Record record;
    bool known = false;
    const auto& items = document->items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        const Value& value = items[i + 1];
        if (items[i].text == "schema")
            known = value.text == schema;
        else if (items[i].text == "path")
            record.path = value.text;
        else if (items[i].text == "marks")
            read_marks(value, record.marks);
    }
    return known ? std::optional(std::move(record)) : std::nullopt;
}

std::string state_of_file(const std::string& path)
{
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return "missing";
    if (S_ISDIR(status.st_mode))
        return "directory";
    // Not the device: some file systems have another number after each boot.
    return base::format("{} {} {}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
}

} // namespace gpucontainer::cdi

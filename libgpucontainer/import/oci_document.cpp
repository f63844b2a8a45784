// SPDX-License-Identifier: MIT
#include "import/oci_document.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <utility>

namespace gpucontainer::imports {

using Json = nlohmann::json;

namespace {

Result<Json*> made(Json& object, const char* name, Json::value_t type)
{
    Json& value = object[name];
    if (value.is_null())
        value = Json(type);
    if (value.type() != type)
        return Error(Errc::usage, base::format("'{}' is no {}", name,
                                               type == Json::value_t::object ? "object" : "list"));
    return &value;
}

} // namespace

Result<Json> parse_document(std::string_view text)
{
    if (text.size() > largest_document)
        return Error(Errc::usage, base::format("larger than {} bytes", largest_document));
    // The parser stops at a terminator, and passes over what comes after it.
    if (text.find('\0') != std::string_view::npos)
        return Error(Errc::usage, "no JSON document: a NUL is in it");
    if (base::json_depth(text) > deepest_document)
        return Error(Errc::usage, base::format("nested in more than {} levels", deepest_document));
    try {
        return Json::parse(text);
    } catch (const Json::exception& exception) {
        return Error(Errc::usage,
                     base::format("no JSON document: {}", base::json_fault(exception.what())));
    }
}

const Json* member(const Json* object, const char* name)
{
    if (object == nullptr || !object->is_object())
        return nullptr;
    const auto found = object->find(name);
    return found == object->end() ? nullptr : &*found;
}

std::string_view text_of(const Json& object, const char* name)
{
    const Json* const value = member(&object, name);
    if (value == nullptr || !value->is_string())
        return "";
    const std::string_view text = value->get_ref<const std::string&>();
    return text.find('\0') == std::string_view::npos ? text : "";
}

Result<Json*> made_object(Json& object, const char* name)
{
    return made(object, name, Json::value_t::object);
}

Result<Json*> made_list(Json& object, const char* name)
{
    return made(object, name, Json::value_t::array);
}

void replace(Json& list, const Json& added, const std::function<bool(const Json&)>& is_old)
{
    Json kept = Json::array();
    for (Json& element : list)
        if (!is_old(element))
            kept.push_back(std::move(element));
    for (const Json& element : added)
        kept.push_back(element);
    list = std::move(kept);
}

void replace_by_name(Json& list, const Json& added, const char* name)
{
    std::set<std::string, std::less<>> names;
    for (const Json& element : added)
        names.emplace(text_of(element, name));
    replace(list, added,
            [&](const Json& element) { return names.contains(text_of(element, name)); });
}

} // namespace gpucontainer::imports

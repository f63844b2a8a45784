// SPDX-License-Identifier: MIT
#include "import/edited_config.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/try.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;

std::string name_of_variable(const Json& pair)
{
    const std::string text = pair.is_string() ? pair.get<std::string>() : "";
    return text.substr(0, text.find('='));
}

void set_variables(Json& env, const Json& edits)
{
    std::set<std::string> names;
    for (const Json& pair : edits["process"]["env"])
        names.insert(name_of_variable(pair));
    for (const Json& name : edits["unset_env"])
        names.insert(name.get<std::string>());
    replace(env, edits["process"]["env"],
            [&](const Json& pair) { return names.contains(name_of_variable(pair)); });
}

/// The mounts whose files are there.
Json mounts_of(const Json& edits)
{
    std::set<std::string> missing;
    for (const Json& file : edits["files"]) {
        const auto& content = file["content"].get_ref<const std::string&>();
        const std::string path = file["path"];
        const auto found = base::read_file(path, content.size() + 1);
        if (!found || *found != content)
            missing.insert(path);
    }
    Json mounts = Json::array();
    for (const Json& mount : edits["mounts"])
        if (!missing.contains(std::string(text_of(mount, "source"))))
            mounts.push_back(mount);
    return mounts;
}

Result<void> edit(Json& config, const Json& edits)
{
    if (!config.is_object())
        return Error(Errc::usage, "it is no object");
    GPUCTR_TRY(Json* const process, made_object(config, "process"));
    GPUCTR_TRY(Json* const env, made_list(*process, "env"));
    set_variables(*env, edits);
    if (const Json& groups = edits["process"]["user"]["additionalGids"]; !groups.empty()) {
        GPUCTR_TRY(Json* const user, made_object(*process, "user"));
        GPUCTR_TRY(Json* const known, made_list(*user, "additionalGids"));
        replace(*known, groups, [&](const Json& group) {
            return std::find(groups.begin(), groups.end(), group) != groups.end();
        });
    }
    GPUCTR_TRY(Json* const mounts, made_list(config, "mounts"));
    replace_by_name(*mounts, mounts_of(edits), "destination");
    GPUCTR_TRY(Json* const of_linux, made_object(config, "linux"));
    GPUCTR_TRY(Json* const devices, made_list(*of_linux, "devices"));
    replace_by_name(*devices, edits["linux"]["devices"], "path");
    GPUCTR_TRY(Json* const resources, made_object(*of_linux, "resources"));
    GPUCTR_TRY(Json* const rules, made_list(*resources, "devices"));
    replace(*rules, edits["linux"]["resources"]["devices"], [](const Json&) { return false; });
    return {};
}

} // namespace

Result<std::string> edited_config(std::string_view config, std::string_view edits)
{
    GPUCTR_TRY(Json document, parse_document(config), "the configuration of the container");
    GPUCTR_TRY(const Json ours, parse_document(edits));
    GPUCTR_CHECK(edit(document, ours), "the configuration of the container");
    return base::without_control_characters(document.dump()) + "\n";
}

} // namespace gpucontainer::imports

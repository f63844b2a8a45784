// SPDX-License-Identifier: MIT
#include "import/container_environment.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "import/oci_config.hpp"
#include "import/shell_script.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace gpucontainer::imports {
namespace {

// More than images have, and little enough to be read quickly.
constexpr std::size_t largest_file = 1U << 20U;
constexpr std::size_t most_scripts = 256;
constexpr std::size_t largest_scripts = 4U << 20U; // of an image, together

/// Of Apptainer and Singularity, whose images run all scripts in it in the order of their names.
constexpr const char* scripts = "/.singularity.d/env";
/// Of Charliecloud.
constexpr const char* list = "/ch/environment";

bool is_missing(const Error& error)
{
    return error.os_error() == ENOENT || error.os_error() == ENOTDIR;
}

void note(const std::string& path, const std::string& lines, model::Findings& findings)
{
    if (!lines.empty())
        findings.push_back({model::FindingCode::variable_ignored, path,
                            "left out what only a shell would know, in lines " + lines, path});
}

/// Scripts can make long values of short texts, each of the next of those before.
Result<void> check_size(const Variables& variables)
{
    std::size_t size = 0;
    for (const auto& [name, value] : variables)
        size += name.size() + value.size();
    if (variables.size() > most_variables)
        return Error(Errc::usage, base::format("more than {} variables", most_variables));
    if (size > largest_environment)
        return Error(Errc::usage,
                     base::format("variables of more than {} bytes", largest_environment));
    return {};
}

Result<void> check_image(const std::string& path, const Variables& variables)
{
    if (auto checked = check_size(variables); !checked)
        return std::move(checked).error().with_code(Errc::rootfs).with_object(path).context(path);
    return {};
}

Result<void> read_scripts(const rootfs::RootView& root, ContainerEnvironment& environment)
{
    auto names = root.list(scripts, most_scripts);
    if (!names && is_missing(names.error()))
        return {};
    if (!names)
        return std::move(names).error();
    std::size_t size = 0;
    for (const std::string& name : *names) {
        if (!name.ends_with(".sh") || name.starts_with('.'))
            continue;
        const std::string path = base::format("{}/{}", scripts, name);
        GPUCTR_TRY(const std::string text, root.read(path, largest_file));
        if ((size += text.size()) > largest_scripts)
            return Error(Errc::rootfs, base::format("{}: scripts of more than {} bytes", scripts,
                                                    largest_scripts))
                .with_object(scripts);
        note(path, read_script(text, environment.variables), environment.findings);
        GPUCTR_CHECK(check_image(path, environment.variables));
    }
    return {};
}

/// NAME=VALUE, over what files say: engines know nothing of these.
void set_variable(std::string_view setting, Variables& variables)
{
    const std::string_view name = setting.substr(0, setting.find('='));
    if (!is_variable_name(name) || name.size() == setting.size())
        return;
    const std::string_view value = setting.substr(name.size() + 1);
    if (value.size() > longest_value)
        variables.erase(std::string(name));
    else
        variables[std::string(name)] = value;
}

bool is_script(std::string_view text)
{
    return text.starts_with("#!") || text.starts_with("export ")
           || text.find("\nexport ") != std::string_view::npos;
}

} // namespace

Result<ContainerEnvironment> read_image(const rootfs::RootView& root)
{
    ContainerEnvironment environment;
    GPUCTR_CHECK(read_scripts(root, environment));
    auto text = root.read(list, largest_file);
    if (!text && !is_missing(text.error()))
        return std::move(text).error();
    if (text)
        note(list, read_lines(*text, environment.variables), environment.findings);
    GPUCTR_CHECK(check_image(list, environment.variables));
    GPUCTR_TRY(const auto settings, root.variables());
    for (const std::string_view setting : settings)
        set_variable(setting, environment.variables);
    GPUCTR_CHECK(check_image("its configuration", environment.variables));
    GPUCTR_CHECK(root.check());
    return environment;
}

Result<ContainerEnvironment> read_text(std::string_view text)
{
    ContainerEnvironment environment;
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
        GPUCTR_TRY(environment.variables, read_oci_config(text));
        return environment;
    }
    if (text.size() > largest_file)
        return Error(Errc::usage, base::format("larger than {} bytes", largest_file));
    note("",
         is_script(text) ? read_script(text, environment.variables)
                         : read_lines(text, environment.variables),
         environment.findings);
    GPUCTR_CHECK(check_size(environment.variables));
    return environment;
}

void add_prefixed(std::span<const char* const> environment, Variables& variables)
{
    constexpr std::array<std::string_view, 2> prefixes = {"SINGULARITYENV_", "APPTAINERENV_"};
    for (const std::string_view prefix : prefixes)
        for (const std::string_view text : environment) {
            const auto equals = text.find('=');
            if (equals == std::string_view::npos || !text.starts_with(prefix))
                continue;
            const std::string_view name = text.substr(prefix.size(), equals - prefix.size());
            if (is_variable_name(name))
                variables[std::string(name)] = text.substr(equals + 1);
        }
}

} // namespace gpucontainer::imports

// SPDX-License-Identifier: MIT
#include "search/script.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace gpucontainer::search {
namespace {

/// The interpreter of a script: "/usr/bin/python3", or "python3" for `env`, which searches PATH. ""
/// if it is not a script.
std::string interpreter_of(int fd)
{
    std::array<char, 256> start = {}; // the kernel reads no more (BINPRM_BUF_SIZE)
    const ssize_t size = ::pread(fd, start.data(), start.size(), 0);
    std::string_view line(start.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const std::size_t end = line.find('\n');
    if (!line.starts_with("#!") || end == std::string_view::npos
        || std::ranges::any_of(line.substr(0, end), base::is_control))
        return "";
    line = base::trim(line.substr(2, end - 2));
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view program = line.substr(0, space);
    if (base::name_of(program) != "env")
        return std::string(program.starts_with('/') ? program : std::string_view());
    const std::string_view name = base::trim(line.substr(space));
    return std::string(name.find_first_of(" /=-") == std::string_view::npos ? name
                                                                            : std::string_view());
}

bool is_in_data(const host::DriverRoot& root, model::Catalogue catalogue,
                const Installation& installation, std::string_view path)
{
    const auto holds = [&](const std::string& name) {
        const auto directory = root.open_directory(name);
        return directory && base::is_below(path, directory->real_path);
    };
    return std::ranges::any_of(catalogue, [&](const model::CatalogueRule& rule) {
        if (rule.kind != model::FileKind::data || rule.capability == model::Capability::none)
            return false;
        const std::string own = installation.own_path(rule.name);
        return holds(std::string(rule.name)) || (!own.empty() && holds(own));
    });
}

} // namespace

std::optional<model::DriverFile> find_script(const host::DriverRoot& root,
                                             const model::CatalogueRule& tool,
                                             const std::string& path, model::Catalogue catalogue,
                                             const Installation& installation)
{
    const auto opened = root.open_file(path);
    if (!opened || !installation.admits(opened->real_path))
        return std::nullopt;
    std::string interpreter = interpreter_of(opened->fd.get());
    if (interpreter.empty() || !is_in_data(root, catalogue, installation, opened->real_path))
        return std::nullopt;
    model::DriverFile script;
    script.kind = model::FileKind::tool;
    script.classify(tool);
    script.registrations = {{model::Manner::script, std::move(interpreter)}};
    script.name = tool.name;
    script.path = root.prefix() + opened->real_path;
    script.id = model::FileId::of(opened->status);
    script.entry_names = {script.name};
    return script;
}

} // namespace gpucontainer::search

// SPDX-License-Identifier: MIT
#include "plan/started_program.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/facts.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <optional>

namespace gpucontainer::plan {
namespace {

constexpr int most_interpreters = 4; // as the kernel, of scripts
constexpr std::size_t most_places = 64;
constexpr std::string_view usual_search_path =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Of the container, else that with which it is started.
std::string_view search_path_of(const Request& request)
{
    for (const Environment* const variables : {&request.container, &request.environment})
        if (const auto found = variables->find("PATH"); found != variables->end())
            return found->second;
    return usual_search_path;
}

std::string find_program(const Draft& draft, const std::string& name)
{
    if (name.starts_with('/'))
        return name;
    if (name.find('/') != std::string::npos)
        return ""; // the working directory decides
    const std::string_view path = search_path_of(draft.request);
    std::size_t looked_at = 0;
    for (const std::string_view directory : base::split(path, ':')) {
        if (++looked_at > most_places)
            break;
        std::string candidate = base::format("{}/{}", directory, name);
        if (directory.starts_with('/') && candidate.size() < PATH_MAX
            && draft.view.resolve(candidate).type == rootfs::EntryType::regular)
            return candidate;
    }
    return "";
}

/// "/usr/bin/env" of a file that begins with "#! /usr/bin/env python3"; none if it is no script.
std::optional<std::string> interpreter_of_script(const base::OpenFile& file)
{
    constexpr std::string_view mark = "#!";
    std::array<char, 256> begin = {}; // as much as the kernel reads
    const auto size = file.read(begin, 0);
    std::string_view text(begin.data(), size ? *size : 0);
    if (!text.starts_with(mark))
        return std::nullopt;
    text = base::trim(text.substr(mark.size(), text.find('\n') - mark.size()));
    return std::string(text.substr(0, text.find_first_of(" \t")));
}

StartedProgram look_at(const Draft& draft, std::string path, const base::OpenFile& file)
{
    using Kind = StartedProgram::Kind;
    const auto facts = elf::read_facts(file.get());
    if (!facts || std::ranges::any_of(path, base::is_control))
        return {};
    if (!elf::is_for(*facts, *draft.machine))
        return {Kind::foreign, std::move(path)};
    if (!facts->has_interpreter())
        return {Kind::no_libraries, std::move(path)};
    return {Kind::loaded, std::move(path), facts->interpreter};
}

} // namespace

StartedProgram find_started_program(const Draft& draft, const std::string& name)
{
    std::string path = find_program(draft, name);
    for (int i = 0; i <= most_interpreters && path.starts_with('/'); ++i) {
        const auto file = draft.view.open(path);
        if (!file)
            return {};
        auto interpreter = interpreter_of_script(*file);
        if (!interpreter)
            return look_at(draft, std::move(path), *file);
        path = *std::move(interpreter);
    }
    return {};
}

} // namespace gpucontainer::plan

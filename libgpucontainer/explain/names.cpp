// SPDX-License-Identifier: MIT
#include "explain/names.hpp"

#include "base/format.hpp"
#include "base/similar.hpp"
#include "base/text.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace gpucontainer::explain {

using model::DeviceNode;
using model::DriverFile;
using model::DriverStack;
using model::FindingCode;
using model::Gpu;

namespace {

constexpr std::size_t most_listed = 8; // of similar names in a message

/// How well a name fits what was typed, the best first.
enum class Fit : std::uint8_t { exact, without_version, beginning, none };

Fit fit_of(std::string_view typed, std::string_view name)
{
    if (typed == name)
        return Fit::exact;
    if (typed.empty() || !name.starts_with(typed))
        return Fit::none;
    const std::string_view rest = name.substr(typed.size());
    // "libcuda.so" and "libcuda" for "libcuda.so.1"
    const bool is_version = rest.starts_with('.') && typed.find(".so") != std::string_view::npos;
    return is_version || rest.starts_with(".so") ? Fit::without_version : Fit::beginning;
}

Fit fit_of(std::string_view typed, const Subject& subject)
{
    Fit best = Fit::none;
    for (const std::string& name : subject.names)
        best = std::min(best, fit_of(typed, name));
    return best;
}

std::vector<std::string> names_of(const DeviceNode& node)
{
    std::vector<std::string> names = {node.path, node.host_path};
    names.insert(names.end(), node.links.begin(), node.links.end());
    constexpr std::string_view directory = "/dev/";
    for (std::size_t i = 0, count = names.size(); i < count; ++i)
        if (names[i].starts_with(directory)) {
            names.push_back(names[i].substr(directory.size()));
            names.emplace_back(base::name_of(names[i]));
        }
    return names;
}

/// Findings about names that nothing else has.
bool is_about_missing(const model::Finding& finding)
{
    switch (finding.code) {
    case FindingCode::not_installed:
    case FindingCode::file_unusable:
    case FindingCode::version_differs:
    case FindingCode::gpu_unusable:
    case FindingCode::node_missing:
    case FindingCode::node_inaccessible:
    case FindingCode::node_left_out:
        return !finding.object.empty();
    default:
        return false;
    }
}

void add_subjects(const DriverStack& driver, std::vector<Subject>& subjects)
{
    for (const Gpu& gpu : driver.gpus)
        subjects.push_back({&driver, &gpu, gpu.label(), {}}); // words find it, not names
    for (const DriverFile& file : driver.files) {
        auto names = explain::names_of(file);
        names.push_back(file.path);
        subjects.push_back({&driver, &file, names.front(), std::move(names)});
    }
    for (const auto* nodes : {&driver.nodes, &driver.missing_nodes})
        for (const DeviceNode& node : *nodes)
            subjects.push_back({&driver, &node, node.path, names_of(node)});
    for (const model::SharedPath& shared : driver.shared_paths)
        subjects.push_back({&driver, &shared, shared.path, {shared.path, shared.extra}});
    std::set<std::string> known;
    for (const Subject& subject : subjects)
        known.insert(subject.names.begin(), subject.names.end());
    for (const model::Finding& finding : driver.findings)
        if (is_about_missing(finding) && !known.contains(finding.object)) {
            std::vector<std::string> names = {finding.object, finding.evidence,
                                              std::string(base::name_of(finding.evidence))};
            // "GPU 0000:3b:00.0"
            names.emplace_back(finding.object.substr(finding.object.rfind(' ') + 1));
            subjects.push_back({&driver, &finding, finding.object, std::move(names)});
        }
}

/// The GPUs that a word chooses, without the GPU of an instance that was meant alone.
std::vector<Subject> gpus_called(std::string_view word, std::span<const DriverStack> drivers)
{
    std::vector<Subject> found;
    for (const DriverStack& driver : drivers) {
        const auto chosen = plan::find_gpus(driver, word);
        if (!chosen)
            continue;
        const auto is_meant = [&](unsigned index) {
            const Gpu& gpu = driver.gpus[index];
            return gpu.is_instance()
                   && (gpu.uuid == word || std::ranges::find(gpu.names, word) != gpu.names.end());
        };
        const bool instance_alone = std::ranges::any_of(*chosen, is_meant);
        for (const unsigned index : *chosen)
            if (const Gpu& gpu = driver.gpus[index];
                instance_alone ? is_meant(index) : !gpu.is_instance())
                found.push_back({&driver, &gpu, gpu.label(), {}});
    }
    return found;
}

std::string listed(const std::set<std::string>& names)
{
    std::vector<std::string> shown;
    for (const std::string& name : names)
        if (shown.size() < most_listed)
            shown.push_back(name);
    if (names.size() > shown.size())
        shown.push_back(base::format("{} more", names.size() - shown.size()));
    return base::joined(shown, ", ");
}

/// What a person may have meant by an unknown name.
std::string hint_for(std::string_view typed, const std::vector<Subject>& subjects)
{
    const std::string word = base::to_lower(base::name_of(typed));
    std::set<std::string> similar;
    std::vector<std::string_view> names;
    for (const Subject& subject : subjects)
        for (const std::string& name : subject.names) {
            names.push_back(std::string_view(name).substr(0, name.find(".so")));
            if (word.size() > 2 && base::to_lower(name).find(word) != std::string::npos)
                similar.insert(subject.label);
        }
    if (!similar.empty())
        return "similar names: " + listed(similar);
    return base::suggestion(base::name_of(typed), names)
           + "`gpuctr-setup list -v` shows all files, nodes and GPUs";
}

} // namespace

std::vector<std::string> names_of(const DriverFile& file)
{
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (!name.empty() && std::ranges::find(names, name) == names.end())
            names.push_back(name);
    };
    add(file.soname);
    add(file.name);
    std::ranges::for_each(file.links, add);
    std::ranges::for_each(file.entry_names, add);
    return names;
}

std::vector<Subject> subjects_of(std::span<const DriverStack> drivers)
{
    std::vector<Subject> subjects;
    for (const DriverStack& driver : drivers)
        add_subjects(driver, subjects);
    return subjects;
}

Result<std::vector<Subject>> subjects_called(std::string_view name,
                                             std::span<const DriverStack> drivers)
{
    const std::vector<Subject> subjects = subjects_of(drivers);
    Fit best = Fit::none;
    for (const Subject& subject : subjects)
        best = std::min(best, fit_of(name, subject));
    if (best != Fit::exact)
        if (auto gpus = gpus_called(name, drivers); !gpus.empty())
            return gpus;
    std::vector<Subject> found;
    if (best != Fit::none)
        std::ranges::copy_if(subjects, std::back_inserter(found),
                             [&](const Subject& subject) { return fit_of(name, subject) == best; });
    if (found.empty())
        return Error(Errc::usage, base::format("{}: no library, tool, device node or GPU has this "
                                               "name",
                                               name))
            .with_argument("name")
            .with_hint(hint_for(name, subjects));
    std::set<std::string> labels;
    for (const Subject& subject : found)
        labels.insert(subject.label);
    if (best != Fit::exact && labels.size() > 1)
        return Error(Errc::usage, base::format("{}: is the beginning of several names", name))
            .with_argument("name")
            .with_hint("name one of them: " + listed(labels));
    return found;
}

} // namespace gpucontainer::explain

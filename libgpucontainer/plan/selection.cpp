// SPDX-License-Identifier: MIT
#include "plan/selection.hpp"

#include "base/format.hpp"
#include "base/similar.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "plan/device_words.hpp"
#include "plan/obstacles.hpp"
#include "plan/slurm.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace gpucontainer::plan {
namespace {

using model::DriverStack;
using model::Gpu;
using Drivers = std::span<const DriverStack>;

/// A list of GPUs, and its name in messages.
struct Named {
    Drivers drivers;
    std::string_view name;
};

Error refused(const Named& list, std::string_view word, std::string_view why)
{
    const auto& [drivers, name] = list;
    std::string hint;
    for (const DriverStack& driver : drivers)
        hint +=
            base::format("{}{}{}", hint.empty() ? "" : "; ",
                         drivers.size() > 1 ? driver.vendor_name + ": " : "", known_gpus(driver));
    return Error(Errc::usage, base::format("{} {}: {}", name, word, why))
        .with_object(std::string(word))
        .with_hint(std::move(hint));
}

/// The driver of the GPU that a word without a CDI kind names.
Result<std::size_t> find_driver(const Named& list, std::string_view word)
{
    const auto& [drivers, name] = list;
    if (drivers.size() == 1)
        return 0;
    if (is_index(word))
        return Error(Errc::usage,
                     base::format("{} {}: may mean GPUs of several vendors", name, word))
            .with_object(std::string(word))
            .with_hint(base::format("name the vendor: {}={} or {}={}", drivers[0].cdi_kind, word,
                                    drivers[1].cdi_kind, word));
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < drivers.size(); ++i) {
        if (!find_gpus(drivers[i], word))
            continue;
        if (found)
            return refused(list, word, "GPUs of several vendors have this name");
        found = i;
    }
    if (found)
        return *found;
    for (std::size_t i = 0; i < drivers.size(); ++i) // finding it there reports the error
        if (const auto gpus = find_gpus(drivers[i], word);
            is_too_short(drivers[i], word) || gpus.error().code() == Errc::requirement)
            return i;
    const std::string_view fault = fault_in(word);
    return refused(list, word, fault.empty() ? "no such GPU" : fault);
}

/// Whether the kernel lists the GPU, but its driver has no node for it.
bool is_broken(const DriverStack& driver, const Gpu& gpu)
{
    return gpu.minor < 0 && !gpu.pci_address.empty()
           && driver.version_source == model::VersionSource::module;
}

Error broken(const DriverStack& driver, const Gpu& gpu)
{
    const auto said =
        std::ranges::find(driver.findings, "GPU " + gpu.pci_address, &model::Finding::object);
    const bool is_known = said != driver.findings.end();
    return Error(Errc::no_device, base::format("GPU {} cannot be used{}{}", gpu.label(),
                                               is_known ? ": " : "", is_known ? said->text : ""))
        .with_object(gpu.pci_address)
        .with_hint(is_known ? said->hint : "");
}

/// What the words so far have named.
class GpuChoice {
public:
    explicit GpuChoice(const Named& list)
        : list_(list), drivers_(list.drivers), chosen_(list.drivers.size())
    {
    }

    Result<void> add(std::string_view word, bool alone, bool ignore_others)
    {
        const std::string keyword = base::to_lower(word);
        if (keyword == "auto" || (keyword == "none" && !alone))
            return refused(list_, word, "cannot be combined with other words");
        if (const auto equals = word.find('='); equals != std::string_view::npos)
            return add_of_kind(word, word.substr(0, equals), word.substr(equals + 1),
                               ignore_others);
        if (keyword == "all" || keyword == "none") {
            for (std::size_t i = 0; i < drivers_.size(); ++i)
                GPUCTR_CHECK(add_to(i, word, word));
            return {};
        }
        GPUCTR_TRY(const std::size_t driver, find_driver(list_, word));
        return add_to(driver, word, word);
    }

    std::vector<Selection> take() const
    {
        std::vector<Selection> selections;
        for (const auto& gpus : chosen_) {
            Selection selection;
            selection.explicitly = true;
            selection.wanted = gpus.has_value();
            if (gpus)
                selection.gpus.assign(gpus->begin(), gpus->end());
            selections.push_back(std::move(selection));
        }
        return selections;
    }

private:
    Result<void> add_of_kind(std::string_view word, std::string_view kind, std::string_view name,
                             bool ignore_others)
    {
        for (std::size_t i = 0; i < drivers_.size(); ++i)
            if (!kind.empty() && drivers_[i].cdi_kind == kind
                && !(ignore_others && drivers_[i].gpus.empty()))
                return add_to(i, name, word);
        if (ignore_others)
            return {};
        return refused(list_, word, "no such GPU");
    }

    /// `word` is what was typed, for messages; `name` is its part without the CDI kind.
    Result<void> add_to(std::size_t driver, std::string_view name, std::string_view word)
    {
        std::set<unsigned>& gpus = chosen_[driver] ? *chosen_[driver] : chosen_[driver].emplace();
        const std::string keyword = base::to_lower(name);
        if (keyword == "none")
            return {};
        if (keyword == "all") {
            for (const Gpu& gpu : drivers_[driver].gpus)
                if (!is_broken(drivers_[driver], gpu))
                    gpus.insert(gpu.index);
            return {};
        }
        const auto found = find_gpus(drivers_[driver], name);
        if (!found)
            return Error(found.error().code(),
                         base::format("{} {}: {}", list_.name, word, found.error().message()))
                .with_object(std::string(word))
                .with_hint(found.error().hint());
        for (const unsigned gpu : *found)
            if (is_broken(drivers_[driver], drivers_[driver].gpus[gpu]))
                return broken(drivers_[driver], drivers_[driver].gpus[gpu])
                    .context(base::format("{} {}", list_.name, word));
        gpus.insert(found->begin(), found->end());
        return {};
    }

    Named list_;
    Drivers drivers_;
    std::vector<std::optional<std::set<unsigned>>> chosen_;
};

Error nothing_usable(const DriverStack& driver)
{
    const std::size_t count = driver.whole_gpus();
    Error error(
        Errc::permission,
        count == 1 ? base::format("the only {} GPU may not be used", driver.vendor_name)
                   : base::format("none of the {} {} GPUs may be used", count, driver.vendor_name));
    const auto first = std::ranges::find_if(driver.nodes, [](const auto& node) {
        return node.gpu >= 0 && node.required && !node.accessible;
    });
    const auto reason =
        std::ranges::find(driver.findings, model::FindingCode::gpu_unusable, &model::Finding::code);
    if (first == driver.nodes.end() && driver.missing_nodes.empty()
        && reason != driver.findings.end())
        return std::move(error).with_hint(reason->message());
    const auto missing = std::ranges::find_if(driver.missing_nodes, [&](const auto& node) {
        return node.gpu >= 0 && !driver.remedy_for(node).empty();
    });
    if (first == driver.nodes.end() && missing != driver.missing_nodes.end())
        return std::move(error).with_hint(
            base::format("{} is missing: {}", missing->host_path, driver.remedy_for(*missing)));
    if (first == driver.nodes.end())
        return std::move(error).with_hint("device nodes are missing; `gpuctr-setup list` "
                                          "shows which are there");
    return std::move(error).with_hint(
        base::format("{}: {}; `gpuctr-setup list -v` shows the reason for each", first->host_path,
                     driver.obstacle_to(*first)));
}

bool is_accessible(const DriverStack& driver, unsigned gpu)
{
    const auto is_its = [&](const model::DeviceNode& node) {
        return node.gpu == static_cast<int>(gpu) && node.required;
    };
    return std::ranges::any_of(driver.nodes, is_its)
           && std::ranges::none_of(driver.missing_nodes, is_its)
           && std::ranges::all_of(driver.nodes, [&](const model::DeviceNode& node) {
                  return !is_its(node) || node.accessible;
              });
}

/// The GPUs that permissions, the device cgroup and mounts allow.
std::vector<unsigned> usable_gpus(const DriverStack& driver)
{
    std::vector<unsigned> gpus;
    for (const Gpu& gpu : driver.gpus)
        if (is_accessible(driver, gpu.index)
            && (!gpu.is_instance() || is_accessible(driver, static_cast<unsigned>(gpu.parent))))
            gpus.push_back(gpu.index);
    gpus = without_lone_parents(driver, std::move(gpus));
    // Without a kernel driver there are no nodes, and a plan can only be shown.
    for (const Gpu& gpu : driver.gpus)
        if (gpu.minor < 0 && driver.version_source != model::VersionSource::module)
            gpus.push_back(gpu.index);
    return gpus;
}

Result<Selection> select_automatically(const DriverStack& driver, const Environment& environment,
                                       const SlurmTrust& trust)
{
    Selection selection;
    if (driver.gpus.empty())
        return selection; // only its files can be shown
    selection.gpus = usable_gpus(driver);
    if (selection.gpus.empty())
        return nothing_usable(driver);
    if (auto obstacle = obstacle_to_all(driver))
        return *std::move(obstacle);
    GPUCTR_TRY(auto slurm, read_slurm(driver, environment, selection.gpus, trust));
    if (slurm.passed_over)
        selection.passed_over.push_back(*std::move(slurm.passed_over));
    GPUCTR_TRY(auto narrowed, narrow(driver, environment, selection.gpus, slurm.layer));
    selection.layers = std::move(narrowed.layers);
    std::ranges::move(narrowed.passed_over, std::back_inserter(selection.passed_over));
    if (const VisibleLayer* const last = deciding(selection.layers))
        selection.gpus = with_parents(driver, gpus_of(last->left));
    return selection;
}

Result<std::vector<Selection>> select_all_automatically(Drivers drivers, const DeviceChoice& choice,
                                                        model::Findings& left_out)
{
    std::vector<Selection> selections;
    std::optional<Error> first;
    std::size_t usable = 0;
    for (const DriverStack& driver : drivers)
        usable += without_parents(driver, usable_gpus(driver)).size();
    const SlurmTrust trust = slurm_trust(drivers, usable);
    for (const DriverStack& driver : drivers) {
        auto selection = select_automatically(driver, choice.environment, trust);
        if (selection) {
            selections.push_back(*std::move(selection));
            continue;
        }
        if (choice.required.contains(driver.vendor))
            return std::move(selection).error();
        left_out.push_back(
            {model::FindingCode::vendor_left_out, base::format("{} GPUs", driver.vendor_name),
             "left out: " + selection.error().message(), driver.root, selection.error().hint()});
        selections.emplace_back().wanted = false;
        if (!first)
            first = std::move(selection).error();
    }
    if (first && std::ranges::none_of(selections, &Selection::wanted))
        return *std::move(first);
    return selections;
}

} // namespace

Result<std::vector<Selection>> parse_devices(Drivers drivers, std::string_view list,
                                             bool ignore_others, std::string_view name)
{
    const std::string_view whole = base::trim(list);
    const Named named = {drivers, name};
    GpuChoice choice(named);
    for (const std::string_view part : base::split(whole, ',')) {
        const std::string_view word = base::trim(part);
        if (word.empty())
            return refused(named, base::format("list '{}'", whole), "an empty name in it");
        GPUCTR_CHECK(choice.add(word, word == whole, ignore_others));
    }
    return choice.take();
}

Result<std::vector<Selection>> select_devices(Drivers drivers, const DeviceChoice& choice,
                                              model::Findings& left_out)
{
    if (base::to_lower(base::trim(choice.list)) == "auto")
        return select_all_automatically(drivers, choice, left_out);
    return about("devices", parse_devices(drivers, choice.list, false, choice.name));
}

Result<std::set<model::Capability>> parse_capabilities(std::string_view list)
{
    using model::Capability;
    constexpr std::array all = {Capability::compute, Capability::utility, Capability::graphics,
                                Capability::video,   Capability::display, Capability::ngx,
                                Capability::compat32};
    std::set<Capability> chosen;
    for (std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        if (word == "all") {
            chosen.insert(all.begin(), all.end());
            continue;
        }
        const auto capability = model::parse_capability(word);
        if (!capability || *capability == Capability::none)
            return Error(Errc::usage, base::format("unknown driver capability '{}'", word))
                .with_object(std::string(word))
                .with_hint(base::suggestion(word, {"compute", "utility", "graphics", "video",
                                                   "display", "ngx", "firmware", "compat32", "all"})
                           + "known capabilities are compute, utility, graphics, video, display, "
                             "ngx, firmware, compat32 and all");
        chosen.insert(*capability);
    }
    return chosen;
}

} // namespace gpucontainer::plan

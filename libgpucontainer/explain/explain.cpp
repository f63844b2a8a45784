// SPDX-License-Identifier: MIT
#include "explain/explain.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "explain/copies.hpp"
#include "explain/names.hpp"
#include "explain/remedies.hpp"
#include "host/driver_root.hpp"
#include "image/open_root.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

namespace gpucontainer::explain {

using model::DeviceNode;
using model::DriverFile;
using model::DriverStack;
using model::FileKind;
using model::Finding;
using model::Gpu;

namespace {

constexpr std::size_t most_answers = 64;

Kind kind_of(const DriverFile& file)
{
    switch (file.kind) {
    case FileKind::library:
        return Kind::library;
    case FileKind::tool:
        return Kind::tool;
    case FileKind::data:
        break;
    }
    return Kind::data;
}

/// A finding's text as a sentence of its own.
std::string sentence(const std::string& text)
{
    constexpr std::array verbs = {"is ", "has ", "belongs ", "needs ", "may ", "lies "};
    const bool continues =
        std::ranges::any_of(verbs, [&](const char* verb) { return text.starts_with(verb); });
    return continues ? "it " + text : text;
}

/// Where things are looked at: the host's files, and those of the image.
struct Places {
    const host::DriverRoot* host = nullptr; ///< Null: the host is recorded.
    const rootfs::View* image = nullptr;    ///< Null: no image was named.
};

/// Answers about one driver's things.
class Answering {
public:
    Answering(const plan::Planned& planned, const DriverStack& driver, const Places& places)
        : planned_(planned), plan_(planned.plan), driver_(driver), places_(places)
    {
    }

    Answer operator()(const DriverFile* file) const
    {
        Answer answer = new_answer(kind_of(*file), names_of(*file).front());
        answer.path = file->path;
        answer.capability = file->capability;
        for (const plan::Item& item : plan_.items)
            if (brings(item, *file)) {
                answer.given = true;
                answer.items.push_back(item);
            }
        for (const plan::Item& item : plan_.items)
            if (answer.given && is_name_of(item, *file))
                answer.items.push_back(item);
        const Finding* const objection = objection_to(file->path);
        if (answer.given)
            answer.reason = file->reason;
        else
            answer.reason =
                objection != nullptr ? sentence(objection->text) : why_nothing_of_driver();
        if (file->kind != FileKind::data)
            add_copies(*file, answer);
        answer.remedies = remedies_for(planned_, driver_, *file, answer);
        return answer;
    }

    Answer operator()(const DeviceNode* node) const
    {
        Answer answer = new_answer(Kind::node, node->path);
        const bool is_missing = std::ranges::any_of(
            driver_.missing_nodes, [&](const DeviceNode& one) { return &one == node; });
        answer.path = is_missing ? "" : node->host_path;
        answer.capability = node->capability;
        for (const plan::Item& item : plan_.items)
            if (item.as<plan::Device>() != nullptr && item.target == node->path) {
                answer.given = true;
                answer.reason = item.reason;
                answer.items.push_back(item);
            }
        add_findings(node->host_path, {node->path, std::string(base::name_of(node->path))},
                     answer.others);
        if (!answer.given)
            answer.reason = objection_to(*node, is_missing);
        answer.remedies = remedies_for(planned_, driver_, *node, answer);
        return answer;
    }

    Answer operator()(const Gpu* gpu) const
    {
        Answer answer = new_answer(Kind::gpu, gpu->label());
        answer.path = gpu->pci_address.empty() ? gpu->uuid : gpu->pci_address;
        answer.given = is_chosen(gpu->index);
        for (const plan::Item& item : plan_.items)
            if (item.owner.vendor == driver_.vendor
                && item.owner.gpu == static_cast<int>(gpu->index))
                answer.items.push_back(item);
        for (const auto* nodes : {&driver_.nodes, &driver_.missing_nodes})
            for (const DeviceNode& node : *nodes)
                if (node.gpu == static_cast<int>(gpu->index))
                    add_findings(node.host_path, {}, answer.others);
        add_findings("", {"GPU " + gpu->label(), "GPU " + gpu->pci_address}, answer.others);
        const std::string choice =
            base::format("{} {}", planned_.request.devices_name, planned_.request.devices);
        if (answer.given)
            answer.reason = base::format("{} chooses it", choice);
        else if (!answer.others.empty())
            answer.reason = answer.others.front().message();
        else
            answer.reason = base::format("{} does not choose it", choice) + variables();
        answer.remedies = remedies_for(planned_, driver_, *gpu, answer);
        return answer;
    }

    Answer operator()(const model::SharedPath* shared) const
    {
        Answer answer = new_answer(Kind::shared, shared->path);
        answer.path = shared->path;
        answer.capability = shared->capability;
        for (const plan::Item& item : plan_.items)
            if (item.as<plan::Shared>() != nullptr && item.target == shared->path) {
                answer.given = true;
                answer.items.push_back(item);
            }
        add_findings(shared->path, {shared->path}, answer.others);
        if (answer.given)
            answer.reason = shared->reason;
        else
            answer.reason = !answer.others.empty() ? sentence(answer.others.front().text)
                                                   : std::string("it was not asked for");
        answer.remedies = remedies_for(planned_, driver_, *shared, answer);
        return answer;
    }

    /// What the driver lacks, or cannot use.
    Answer operator()(const Finding* finding) const
    {
        const bool is_gpu = finding->code == model::FindingCode::gpu_unusable;
        const bool is_node = finding->evidence.starts_with("/dev/");
        const bool is_library = finding->object.find(".so") != std::string::npos;
        Answer answer = new_answer(is_gpu       ? Kind::gpu
                                   : is_node    ? Kind::node
                                   : is_library ? Kind::library
                                                : Kind::tool,
                                   finding->object);
        answer.reason = sentence(finding->text);
        add_findings("", {finding->object}, answer.others);
        std::erase_if(answer.others,
                      [&](const Finding& other) { return other.evidence == finding->evidence; });
        if (places_.host != nullptr && !is_gpu && !is_node)
            add_new(copies_on_host(*places_.host, driver_, finding->object), answer.others);
        answer.remedies = remedies_for(*finding);
        return answer;
    }

private:
    Answer new_answer(Kind kind, std::string name) const
    {
        Answer answer;
        answer.kind = kind;
        answer.name = std::move(name);
        answer.vendor = driver_.vendor;
        return answer;
    }

    const plan::UsedDriver* used() const
    {
        const auto found =
            std::ranges::find(plan_.drivers, driver_.vendor, &plan::UsedDriver::vendor);
        return found == plan_.drivers.end() ? nullptr : &*found;
    }

    bool is_chosen(unsigned gpu) const
    {
        const auto* const driver = used();
        return driver != nullptr
               && std::ranges::find(driver->gpus, gpu, &Gpu::index) != driver->gpus.end();
    }

    /// A directory brings what lies in it.
    static bool brings(const plan::Item& item, const DriverFile& file)
    {
        if (const auto* const bind = item.as<plan::Bind>())
            return bind->source == file.path
                   || (bind->is_directory && base::is_below(file.path, bind->source));
        const auto* const cover = item.as<plan::Cover>();
        return cover != nullptr && cover->source == file.path;
    }

    bool is_name_of(const plan::Item& item, const DriverFile& file) const
    {
        const auto names = names_of(file);
        return item.as<plan::Symlink>() != nullptr && item.owner.vendor == driver_.vendor
               && std::ranges::find(names, base::name_of(item.target)) != names.end();
    }

    const Finding* objection_to(const std::string& path) const
    {
        const auto found = std::ranges::find(plan_.findings, path, &Finding::evidence);
        return found == plan_.findings.end() ? nullptr : &*found;
    }

    std::string why_nothing_of_driver() const
    {
        if (used() == nullptr)
            return base::format("no GPU of {} is chosen", driver_.vendor_name) + variables();
        return "nothing that was asked for needs it";
    }

    /// The variables that chose GPUs, if no option named any: " (A=1, B=2)".
    std::string variables() const
    {
        if (base::to_lower(planned_.request.devices) != "auto")
            return "";
        std::vector<std::string> set;
        for (const model::VisibleDevices& variable : driver_.visible_devices)
            if (const auto found = planned_.request.environment.find(variable.name);
                found != planned_.request.environment.end())
                set.push_back(base::format("{}={}", variable.name, found->second));
        return set.empty() ? "" : base::format(" ({})", base::joined(set, ", "));
    }

    std::string objection_to(const DeviceNode& node, bool is_missing) const
    {
        if (const auto* const objection = objection_to(node.host_path))
            return sentence(objection->text);
        if (is_missing)
            return node.problem.empty() ? "it is not on this host" : node.problem;
        if (!node.accessible)
            return sentence(driver_.obstacle_to(node));
        if (node.gpu >= 0 && !is_chosen(static_cast<unsigned>(node.gpu)))
            return base::format("GPU {} is not chosen",
                                driver_.gpus[static_cast<std::size_t>(node.gpu)].label())
                   + variables();
        if (used() == nullptr)
            return why_nothing_of_driver();
        if (!node.extra.empty())
            return base::format("it is a part of {}, which was not asked for", node.extra);
        return base::format("it belongs to {}, which was not asked for",
                            model::name(node.capability));
    }

    void add_copies(const DriverFile& file, Answer& answer) const
    {
        if (places_.host != nullptr)
            answer.others = copies_on_host(*places_.host, driver_, file);
        add_findings("", names_of(file), answer.others);
        if (places_.image != nullptr)
            add_new(copies_in_image(*places_.image, plan_, driver_, file, answer.given),
                    answer.others);
        // What is said of the file itself is the reason.
        std::erase_if(answer.others,
                      [&](const Finding& other) { return other.evidence == file.path; });
    }

    /// Adds what was found when the driver was detected and the plan made, by path or object.
    void add_findings(const std::string& path, const std::vector<std::string>& objects,
                      model::Findings& others) const
    {
        for (const auto* const findings : {&driver_.findings, &plan_.findings})
            for (const Finding& finding : *findings)
                if ((!path.empty() && finding.evidence == path)
                    || (!finding.object.empty()
                        && std::ranges::find(objects, finding.object) != objects.end()))
                    add_new({finding}, others);
    }

    static void add_new(model::Findings found, model::Findings& others)
    {
        for (Finding& finding : found)
            if (std::ranges::find(others, finding.evidence, &Finding::evidence) == others.end())
                others.push_back(std::move(finding));
    }

    const plan::Planned& planned_;
    const plan::Plan& plan_;
    const DriverStack& driver_;
    const Places& places_;
};

/// The answer about one of the other copies, if a path names that.
void turn_to_copy(const std::string& path, Answer& answer)
{
    const auto copy = std::ranges::find(answer.others, path, &Finding::evidence);
    if (copy == answer.others.end())
        return;
    if (answer.given)
        answer.remedies = {base::format("{} is given in its place", answer.path)};
    answer.given = false;
    answer.items.clear();
    answer.path = path;
    answer.reason = sentence(copy->text);
    answer.others.erase(copy);
}

Result<std::vector<Answer>> answers_about(const plan::Planned& planned, std::string_view name,
                                          const rootfs::View* image)
{
    const auto& drivers = *planned.drivers;
    auto subjects = subjects_called(name, drivers);
    const bool is_path = name.starts_with('/');
    // Another path than that of the file which was found: what is known of its name tells more.
    const bool by_file_name = !subjects && is_path;
    if (by_file_name)
        if (auto same = subjects_called(base::name_of(name), drivers))
            subjects = std::move(same);
    if (!subjects)
        return std::move(subjects).error();
    std::vector<Answer> answers;
    for (const Subject& subject : *subjects) {
        if (answers.size() >= most_answers)
            break;
        std::optional<host::DriverRoot> root;
        if (!planned.unproven) {
            GPUCTR_TRY(root, host::DriverRoot::open(subject.driver->root));
        }
        const Places places = {root ? &*root : nullptr, image};
        const Answering answering(planned, *subject.driver, places);
        answers.push_back(std::visit(answering, subject.what));
        if (is_path)
            turn_to_copy(std::string(name), answers.back());
    }
    return answers;
}

} // namespace

std::string_view name(Kind kind)
{
    switch (kind) {
    case Kind::library:
        return "library";
    case Kind::tool:
        return "tool";
    case Kind::data:
        return "data";
    case Kind::node:
        return "node";
    case Kind::gpu:
        return "gpu";
    case Kind::shared:
        return "shared";
    }
    return "";
}

Result<std::vector<Answer>> explain(const plan::Planned& planned, std::string_view name,
                                    int rootfs_fd)
{
    if (rootfs_fd < 0)
        return answers_about(planned, name, nullptr);
    GPUCTR_TRY(const auto root, image::open_root(rootfs_fd));
    auto answers = answers_about(planned, name, root.get());
    GPUCTR_CHECK(root->check());
    return answers;
}

} // namespace gpucontainer::explain

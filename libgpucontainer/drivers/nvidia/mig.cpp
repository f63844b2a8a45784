// SPDX-License-Identifier: MIT
#include "drivers/nvidia/mig.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/proc_text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {

using model::Gpu;

namespace {

// The kernel module knows 15 and 8 of them.
constexpr std::size_t most_instances = 256;
constexpr std::uint64_t most_minors = 1U << 20U;

/// The numbers of the directories with this beginning: 3 for "gi3".
Result<std::vector<unsigned>> numbered(const std::string& directory, std::string_view beginning)
{
    const auto names = base::list_directory(AT_FDCWD, directory, most_instances);
    std::vector<unsigned> numbers;
    if (!names && base::leaves_open(names.error().os_error()))
        return Error::from_errno(names.error().os_error(), directory, Errc::driver)
            .with_object(directory);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        if (!name.starts_with(beginning))
            continue;
        const auto number = base::to_number(std::string_view(name).substr(beginning.size()));
        if (number && *number < most_instances)
            numbers.push_back(static_cast<unsigned>(*number));
    }
    std::ranges::sort(numbers);
    return numbers;
}

/// Whether a directory of procfs has none below it. It has a link from each.
bool has_no_directories(const std::string& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && status.st_nlink == 2;
}

/// The minor number in a file of a right.
std::optional<unsigned> minor_in(std::string_view text)
{
    const auto minor = base::to_number(fields(text)["DeviceFileMinor"]);
    if (!minor || *minor >= most_minors)
        return std::nullopt;
    return static_cast<unsigned>(*minor);
}

/// Mode of the node, in the same file. It belongs to root.
std::optional<search::NodeRights> node_rights_in(std::string_view text)
{
    constexpr std::uint64_t permissions = 0777;
    auto field = fields(text);
    const auto mode = base::to_number(field["DeviceFileMode"]);
    if (field["DeviceFileModify"] != "1" || !mode || *mode > permissions)
        return std::nullopt;
    return search::NodeRights{static_cast<std::uint32_t>(*mode), 0, 0};
}

/// Reads the files below the directory of capabilities.
class InstanceReader {
public:
    InstanceReader(std::string system_root, model::Findings& findings)
        : place_(std::move(system_root) + capabilities), findings_(findings)
    {
    }

    Result<std::vector<Instance>> of(const Gpu& gpu)
    {
        std::vector<Instance> found;
        const std::string mig = base::format("gpu{}/mig", gpu.minor);
        if (has_no_directories(at(mig)))
            return found;
        GPUCTR_TRY(const auto gpu_instances, numbered(at(mig), "gi"));
        for (const unsigned gi : gpu_instances) {
            const std::string directory = base::format("{}/gi{}", mig, gi);
            GPUCTR_TRY(const auto compute_instances, numbered(at(directory), "ci"));
            for (const unsigned ci : compute_instances)
                if (auto instance = read(gpu, directory, gi, ci))
                    found.push_back(*std::move(instance));
            if (compute_instances.empty())
                leave_out(base::format("{}:gi{}", gpu.index, gi), "it has no compute instance",
                          directory);
        }
        return found;
    }

private:
    std::string at(const std::string& path) const { return base::format("{}/{}", place_, path); }

    std::optional<Instance> read(const Gpu& gpu, const std::string& directory, unsigned gi,
                                 unsigned ci)
    {
        Instance instance = {gpu.index, gi, ci, {}};
        instance.rights = {
            {{directory + "/access"}, {base::format("{}/ci{}/access", directory, ci)}}};
        for (Instance::Right& right : instance.rights) {
            const auto text = base::read_file(at(right.access));
            const auto minor = text ? minor_in(*text) : std::nullopt;
            if (!minor) {
                leave_out(base::format("{}:gi{}:ci{}", gpu.index, gi, ci),
                          text ? "its file names no device node" : text.error().message(),
                          right.access);
                return std::nullopt;
            }
            right.minor = *minor;
            right.rights = node_rights_in(*text);
        }
        return instance;
    }

    void leave_out(const std::string& instance, const std::string& why, const std::string& path)
    {
        findings_.push_back({model::FindingCode::gpu_unusable, "MIG instance " + instance, why,
                             base::format("{}/{}", capabilities, path)});
    }

    std::string place_;
    model::Findings& findings_;
};

Gpu gpu_of(const Instance& instance, const Gpu& parent)
{
    Gpu gpu = parent;
    gpu.parent = static_cast<int>(parent.index);
    gpu.uuid.clear(); // the driver derives it from what no file of the kernel shows
    gpu.names = {base::format("{}:gi{}:ci{}", parent.index, instance.gpu_instance,
                              instance.compute_instance)};
    // As drivers before 470 called it.
    if (!parent.uuid.empty())
        gpu.names.push_back(base::format("MIG-{}/{}/{}", parent.uuid, instance.gpu_instance,
                                         instance.compute_instance));
    return gpu;
}

search::WantedNode node_of(const Instance::Right& right, std::optional<unsigned> major)
{
    search::WantedNode node;
    node.path = base::format("/dev/nvidia-caps/nvidia-cap{}", right.minor);
    node.major = major;
    node.minor = right.minor;
    node.rights = right.rights;
    node.remedy =
        base::format("`nvidia-modprobe -f {}/{}` as root makes it", capabilities, right.access);
    return node;
}

} // namespace

Result<std::vector<Instance>> find_instances(const std::string& system_root,
                                             const std::vector<Gpu>& gpus,
                                             model::Findings& findings)
{
    std::vector<Instance> all;
    InstanceReader reader(system_root, findings);
    for (const Gpu& gpu : gpus) {
        if (gpu.minor < 0)
            continue;
        GPUCTR_TRY(auto found, reader.of(gpu));
        std::ranges::move(found, std::back_inserter(all));
    }
    return all;
}

std::vector<Management> find_management(const std::string& system_root)
{
    std::vector<Management> all;
    for (const std::string_view name : {"config", "monitor"}) {
        Instance::Right right = {base::format("mig/{}", name)};
        const auto text =
            base::read_file(base::format("{}{}/{}", system_root, capabilities, right.access));
        const auto minor = text ? minor_in(*text) : std::nullopt;
        if (!minor)
            continue;
        right.minor = *minor;
        right.rights = node_rights_in(*text);
        all.push_back({base::format("mig-{}", name), std::move(right)});
    }
    return all;
}

void add_instances(const std::vector<Instance>& instances, std::vector<Gpu>& gpus)
{
    for (const Instance& instance : instances) {
        Gpu gpu = gpu_of(instance, gpus[instance.gpu]);
        gpu.index = static_cast<unsigned>(gpus.size());
        gpus.push_back(std::move(gpu));
    }
}

std::vector<search::WantedNode> nodes_of(const Rights& rights, unsigned first,
                                         std::optional<unsigned> major)
{
    std::vector<search::WantedNode> nodes;
    for (const Management& management : rights.management) {
        nodes.push_back(node_of(management.right, major));
        nodes.back().required = false;
        nodes.back().extra = management.extra;
    }
    for (const Instance& instance : rights.instances) {
        for (const Instance::Right& right : instance.rights) {
            nodes.push_back(node_of(right, major));
            nodes.back().gpu = static_cast<int>(first);
        }
        ++first;
    }
    return nodes;
}

} // namespace gpucontainer::drivers::nvidia

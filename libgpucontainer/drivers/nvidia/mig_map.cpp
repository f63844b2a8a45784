// SPDX-License-Identifier: MIT
#include "drivers/nvidia/mig_map.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace gpucontainer::drivers::nvidia {
namespace {

constexpr std::uint64_t most_numbers = 1024;

/// "GPU-..." or "MIG-...": letters, digits, "-" and, in the form of older drivers, "/".
bool is_uuid(std::string_view text, std::string_view beginning)
{
    constexpr std::size_t longest = 80;
    return text.starts_with(beginning) && text.size() > beginning.size() && text.size() <= longest
           && std::ranges::all_of(text, [](char c) {
                  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                         || c == '-' || c == '/';
              });
}

/// The UUID at the end of a line: "... (UUID: GPU-...)".
std::optional<std::string> uuid_in(std::string_view line, std::string_view beginning)
{
    constexpr std::string_view mark = "(UUID: ";
    const auto at = line.rfind(mark);
    if (at == std::string_view::npos || !line.ends_with(')'))
        return std::nullopt;
    const auto uuid = line.substr(at + mark.size(), line.size() - at - mark.size() - 1);
    return is_uuid(uuid, beginning) ? std::optional(std::string(uuid)) : std::nullopt;
}

/// The number between a word and a colon: 3 in "GPU 3: ...".
std::optional<unsigned> number_behind(std::string_view line, std::string_view word)
{
    if (!line.starts_with(word))
        return std::nullopt;
    line.remove_prefix(word.size());
    const auto number = base::to_number(base::trim(line.substr(0, line.find(':'))));
    return number && *number < most_numbers ? std::optional(static_cast<unsigned>(*number))
                                            : std::nullopt;
}

std::optional<MigMap::Gpu> gpu_in(std::string_view line)
{
    const auto index = number_behind(line, "GPU ");
    auto uuid = uuid_in(line, "GPU-");
    if (!index || !uuid)
        return std::nullopt;
    return MigMap::Gpu{*index, *std::move(uuid), {}};
}

/// "MIG 3g.20gb     Device  0: (UUID: MIG-...)"
std::optional<MigMap::Device> device_in(std::string_view line)
{
    constexpr std::string_view mark = "MIG ";
    auto uuid = uuid_in(line, "MIG-");
    if (!line.starts_with(mark) || !uuid)
        return std::nullopt;
    line = base::trim(line.substr(mark.size()));
    const auto end = line.find(' ');
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::string_view profile = line.substr(0, end);
    const auto number = number_behind(base::trim(line.substr(end)), "Device");
    if (!number || std::ranges::any_of(profile, base::is_control) || !base::is_utf8(profile))
        return std::nullopt;
    return MigMap::Device{std::string(profile), *number, *std::move(uuid)};
}

/// What a profile tells: "1c.3g.20gb+me" is a part of a GPU instance of 3 parts and 20 GB.
struct Profile {
    bool shares = false;
    std::string_view gpu_instance; ///< "3g.20gb+me"
    std::optional<std::uint64_t> memory;

    explicit Profile(std::string_view text) : gpu_instance(text)
    {
        const auto dot = text.find('.');
        if (dot != std::string_view::npos && dot > 0 && text[dot - 1] == 'c') {
            shares = true;
            gpu_instance = text.substr(dot + 1);
        }
        const auto point = gpu_instance.find('.');
        const auto unit = gpu_instance.find("gb");
        if (point != std::string_view::npos && unit != std::string_view::npos && unit > point)
            memory = base::to_number(gpu_instance.substr(point + 1, unit - point - 1));
    }
};

Error unfit(std::string why) { return {Errc::requirement, std::move(why)}; }

/// The instances of one GPU, in their order.
using Own = std::vector<const Instance*>;

std::string name_of(const Instance& instance)
{
    return base::format("{}:gi{}:ci{}", instance.gpu, instance.gpu_instance,
                        instance.compute_instance);
}

/// Whether an instance can have the profile of its line, beside the one before. The kernel module
/// gives larger GPU instances lower numbers (0 is all of the GPU, 1 and 2 are halves, 3 to 6
/// quarters), so that memory does not grow with the number.
Result<void> check_profiles(const MigMap::Gpu& mapped, const Own& own)
{
    for (std::size_t i = 1; i < own.size(); ++i) {
        const Profile before(mapped.devices[i - 1].profile);
        const Profile here(mapped.devices[i].profile);
        const bool is_same = own[i - 1]->gpu_instance == own[i]->gpu_instance;
        const bool fits =
            is_same ? before.gpu_instance == here.gpu_instance && before.shares && here.shares
                    : !before.memory || !here.memory || *here.memory <= *before.memory;
        if (!fits)
            return unfit(base::format("device {} of GPU {} is {} in it, which {} cannot be",
                                      mapped.devices[i].number, mapped.index,
                                      mapped.devices[i].profile, name_of(*own[i])));
    }
    return {};
}

/// The older form of a UUID has the numbers of the instance.
Result<void> check_uuids(const MigMap::Gpu& mapped, const Own& own)
{
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string& uuid = mapped.devices[i].uuid;
        const auto slash = uuid.find('/');
        if (slash != std::string::npos
            && uuid.substr(slash)
                   != base::format("/{}/{}", own[i]->gpu_instance, own[i]->compute_instance))
            return unfit(base::format("{} is not {}", uuid, name_of(*own[i])));
    }
    return {};
}

Result<void> check(const MigMap::Gpu& mapped, const Own& own, const std::vector<model::Gpu>& gpus)
{
    const auto gpu = std::ranges::find_if(gpus, [&](const model::Gpu& one) {
        return !one.is_instance() && one.index == mapped.index;
    });
    if (gpu == gpus.end() || base::to_lower(gpu->uuid) != base::to_lower(mapped.uuid))
        return unfit(base::format("GPU {} is {} in it, and {} here", mapped.index, mapped.uuid,
                                  gpu == gpus.end()   ? "missing"
                                  : gpu->uuid.empty() ? "of unknown UUID"
                                                      : gpu->uuid));
    if (mapped.devices.size() != own.size())
        return unfit(base::format("GPU {} has {} MIG instances in it, and {} here", mapped.index,
                                  mapped.devices.size(), own.size()));
    GPUCTR_CHECK(check_profiles(mapped, own));
    return check_uuids(mapped, own);
}

} // namespace

Result<MigMap> parse_mig_map(std::string_view text)
{
    MigMap map;
    std::set<std::string> uuids;
    unsigned number = 0;
    for (const std::string_view raw : base::split(text, '\n')) {
        ++number;
        const std::string_view line = base::trim(raw);
        const auto refused = [&](std::string_view why) {
            return Error(Errc::usage, base::format("line {}: {}", number, why));
        };
        if (line.empty() || line.starts_with('#'))
            continue;
        if (auto gpu = gpu_in(line)) {
            if (!map.gpus.empty() && map.gpus.back().index >= gpu->index)
                return refused("GPUs are not in the order of their numbers");
            if (!uuids.insert(gpu->uuid).second)
                return refused("a UUID that was there before");
            map.gpus.push_back(*std::move(gpu));
            continue;
        }
        auto device = device_in(line);
        if (!device)
            return refused("not a line of `nvidia-smi -L`");
        if (map.gpus.empty())
            return refused("a MIG instance before the first GPU");
        auto& devices = map.gpus.back().devices;
        if (!devices.empty() && devices.back().number >= device->number)
            return refused("MIG instances are not in the order of their numbers");
        if (!uuids.insert(device->uuid).second)
            return refused("a UUID that was there before");
        devices.push_back(*std::move(device));
    }
    return map;
}

Result<void> use_mig_map(const MigMap& map, const std::vector<Instance>& instances,
                         std::vector<model::Gpu>& gpus)
{
    const std::size_t first = gpus.size() - instances.size();
    std::set<unsigned> left;
    for (const Instance& instance : instances)
        left.insert(instance.gpu);
    auto named = gpus;
    for (const MigMap::Gpu& mapped : map.gpus) {
        Own own;
        for (const Instance& instance : instances)
            if (instance.gpu == mapped.index)
                own.push_back(&instance);
        if (own.empty() && mapped.devices.empty())
            continue;
        GPUCTR_CHECK(check(mapped, own, gpus));
        left.erase(mapped.index);
        for (std::size_t i = 0; i < own.size(); ++i) {
            const MigMap::Device& device = mapped.devices[i];
            model::Gpu& gpu = named[first + static_cast<std::size_t>(own[i] - instances.data())];
            gpu.uuid = device.uuid;
            gpu.model += " MIG " + device.profile;
            std::erase(gpu.names, device.uuid);
            gpu.names.push_back(base::format("{}:{}", mapped.index, device.number));
        }
    }
    if (!left.empty())
        return unfit(base::format("GPU {} has no MIG instance in it", *left.begin()));
    gpus = std::move(named);
    return {};
}

} // namespace gpucontainer::drivers::nvidia

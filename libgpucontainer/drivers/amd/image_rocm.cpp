// SPDX-License-Identifier: MIT
#include "drivers/amd/image_rocm.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/amd/rocblas.hpp"
#include "drivers/amd/topology.hpp"
#include "requirement/expression.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpucontainer::drivers::amd {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Gpu;
using model::Stage;

constexpr const char* override_variable = "HSA_OVERRIDE_GFX_VERSION";

/// The first release of ROCm for GPUs of an architecture, from its release notes. Those before it
/// do not find them. A row for each that is younger than ROCm 5.
struct FirstRelease {
    std::string_view architecture;
    std::string_view rocm;
};
constexpr std::array first_releases = {
    FirstRelease{"gfx942", "6.0"},
    FirstRelease{"gfx950", "7.0"},
    FirstRelease{"gfx1200", "6.4"},
    FirstRelease{"gfx1201", "6.4"},
};

std::string title_of(const Gpu& gpu)
{
    return gpu.model.empty() ? base::format("GPU {}", gpu.label())
                             : base::format("GPU {} ({})", gpu.label(), gpu.model);
}

/// Of each architecture, the first GPU.
std::vector<const Gpu*> one_of_each(std::span<const Gpu> chosen)
{
    std::vector<const Gpu*> found;
    for (const Gpu& gpu : chosen)
        if (!gpu.architecture.empty() && std::ranges::none_of(found, [&](const Gpu* other) {
                return other->architecture == gpu.architecture;
            }))
            found.push_back(&gpu);
    return found;
}

Cause without_kernels(const RocBlas& one)
{
    return {
        {FindingCode::code_missing, one.kernels,
         "rocBLAS is there, and the directory with its kernels for GPUs is not, or is empty",
         one.kernels,
         base::format("install rocBLAS as a whole, or name the directory in {}", kernels_variable),
         model::Capability::compute},
        Stage::code};
}

Cause lacks_target(const RocBlas& one, const Gpu& gpu, std::string_view target)
{
    return {
        {FindingCode::code_missing, title_of(gpu),
         base::format("is a {}{}, for which rocBLAS has no kernels in {}: it has those for {}",
                      gpu.architecture,
                      target == gpu.architecture ? "" : base::format(" that counts as {}", target),
                      one.kernels, base::joined(one.targets, ", ")),
         one.kernels, base::format("use an image, or packages of ROCm, for {}", gpu.architecture),
         model::Capability::compute},
        Stage::code};
}

/// What programs take the GPU for.
std::string target_of(const Gpu& gpu, const std::string& overriding)
{
    return family_of(overriding) == family_of(gpu.architecture) ? overriding : gpu.architecture;
}

/// What of several only some lack is said of these.
void check_kernels(const RocBlas& one, const std::vector<const Gpu*>& gpus,
                   const std::string& overriding, bool is_asked_for, model::Causes& causes)
{
    const Blocks of_all = one.is_loaded || !is_asked_for ? Blocks::all : Blocks::some;
    if (!one.has_kernels) {
        causes.push_back(without_kernels(one));
        causes.back().blocks = of_all;
        return;
    }
    const auto lacks = [&](const Gpu* gpu) {
        const std::string target = target_of(*gpu, overriding);
        return !one.targets.empty()
               && std::ranges::none_of(
                   one.targets, [&](const std::string& has) { return runs_on(has, target); });
    };
    const bool all_lack = std::ranges::all_of(gpus, lacks);
    for (const Gpu* const gpu : gpus)
        if (lacks(gpu)) {
            causes.push_back(lacks_target(one, *gpu, target_of(*gpu, overriding)));
            causes.back().blocks = all_lack ? of_all : Blocks::some;
        }
}

/// A release of ROCm that is older than the GPUs.
void check_release(const rootfs::View& view, const std::string& home,
                   const std::vector<const Gpu*>& gpus, model::Causes& causes)
{
    constexpr std::size_t largest = 256;
    const std::string path = home + "/.info/version";
    const auto text = view.read(path, largest);
    const std::string_view line = text ? std::string_view(*text) : std::string_view();
    const std::string_view version = line.substr(0, line.find_first_not_of("0123456789."));
    if (!requirement::is_version(version))
        return;
    for (const Gpu* const gpu : gpus) {
        const auto* const first =
            std::ranges::find(first_releases, gpu->architecture, &FirstRelease::architecture);
        if (first == first_releases.end()
            || std::is_gteq(requirement::compare(version, first->rocm)))
            continue;
        Cause cause = {{FindingCode::driver_too_old, title_of(*gpu),
                        base::format("is a {}, and the container's ROCm {} is older than it: "
                                     "programs may not find it",
                                     gpu->architecture, version),
                        path, base::format("use an image with ROCm {} or later", first->rocm),
                        model::Capability::compute},
                       Stage::code};
        cause.certain = false;
        causes.push_back(std::move(cause));
    }
}

/// Code for a GPU runs on others of its family at best.
void check_override(std::string_view value, const std::string& overriding,
                    const std::vector<const Gpu*>& gpus, model::Causes& causes)
{
    const auto is_other = [&](const Gpu* gpu) {
        return family_of(overriding) != family_of(gpu->architecture);
    };
    const auto first = std::ranges::find_if(gpus, is_other);
    if (overriding.empty() || first == gpus.end())
        return;
    Cause cause = {{FindingCode::code_missing, override_variable,
                    base::format("is {}: programs run code for {} on {}, a {}, which fails", value,
                                 overriding, title_of(**first), (*first)->architecture),
                    override_variable, base::format("unset {} in the container", override_variable),
                    model::Capability::compute},
                   Stage::code};
    cause.blocks = std::ranges::all_of(gpus, is_other) ? Blocks::all : Blocks::some;
    causes.push_back(std::move(cause));
}

} // namespace

std::string overriding_target(std::string_view value)
{
    constexpr std::uint64_t hundred = 100;
    const auto parts = base::split(value, '.');
    if (parts.size() != 3)
        return "";
    std::uint64_t target = 0;
    for (const std::string_view part : parts) {
        const auto number = base::to_number(part);
        if (!number || *number >= hundred)
            return "";
        target = target * hundred + *number;
    }
    return architecture_of(static_cast<std::uint32_t>(target));
}

Result<void> check_container(const ContainerToCheck& container,
                             const model::DriverStack& /*driver*/, std::span<const Gpu> chosen,
                             model::Causes& causes)
{
    const std::vector<const Gpu*> gpus = one_of_each(chosen);
    if (gpus.empty())
        return {};
    const std::string value = variable_of(container, override_variable);
    const std::string overriding = overriding_target(value);
    check_override(value, overriding, gpus, causes);
    for (const std::string& home : rocm_homes(container.view))
        check_release(container.view, home, gpus, causes);
    for (const RocBlas& one : find_rocblas(container))
        check_kernels(one, gpus, overriding, !container.loaded.empty(), causes);
    return {};
}

} // namespace gpucontainer::drivers::amd

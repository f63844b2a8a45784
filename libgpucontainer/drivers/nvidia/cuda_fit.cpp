// SPDX-License-Identifier: MIT
#include "drivers/nvidia/cuda_fit.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/compat.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "elf/notes.hpp"
#include "requirement/expression.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::Blocks;
using model::Cause;
using model::DriverStack;
using model::FindingCode;
using model::Gpu;
using model::Stage;
using requirement::compare;

constexpr int most_hops = 4; ///< Links from a soname to the file of a version.
constexpr std::size_t most_named = 3;

std::string_view major_in(std::string_view version) { return version.substr(0, version.find('.')); }

const CudaMajor* find_major(std::string_view cuda)
{
    const auto all = cuda_majors();
    const auto found = std::ranges::find(all, major_in(cuda), &CudaMajor::cuda);
    return found == all.end() ? nullptr : &*found;
}

/// The newer of two versions, either of which may be "".
std::string_view newer(std::string_view one, std::string_view other)
{
    if (one.empty() || other.empty())
        return one.empty() ? other : one;
    return std::is_lt(compare(one, other)) ? other : one;
}

/// "580.65.06" of a link to libcuda.so.580.65.06; "" if there is none.
std::string version_behind(const rootfs::View& view, std::string path)
{
    for (int i = 0; i < most_hops; ++i) {
        const std::string target = view.link_target(path);
        if (target.empty())
            break;
        path = target.starts_with('/') ? target
                                       : base::format("{}/{}", base::directory_of(path), target);
    }
    const std::string_view version = version_suffix(base::name_of(path));
    return is_driver_version(version) ? std::string(version) : "";
}

/// The version of CUDA that such a library supports; "" if that is not known.
std::string cuda_of(const CompatLibrary& library)
{
    for (const std::string& text : library.notes)
        if (const auto note = parse_compat_note(text))
            return note->cuda;
    return std::string(supported_cuda(library.version).version);
}

/// Whether NVIDIA's package of a newer user space would work here.
bool could_be_helped(const DriverStack& driver, std::span<const Gpu> chosen,
                     std::string_view needed)
{
    if (!is_driver_version(driver.version) || !is_driver_version(needed))
        return false;
    const CompatLibrary package = {std::string(), std::string(needed), {}};
    return judge_compat(driver, chosen, package).objection.empty();
}

std::string advice_on(const DriverStack& driver, std::span<const Gpu> chosen, const CudaUse& use,
                      std::string_view supported)
{
    const std::string_view needed = driver_for_cuda(use.version);
    std::string hint =
        base::format("update the host's driver, or use an image for CUDA {}",
                     find_major(supported) != nullptr ? base::format("{}.x", major_in(supported))
                                                      : base::format("{} or earlier", supported));
    if (could_be_helped(driver, chosen, needed)) {
        std::string package = base::format("cuda-compat-{}", use.version);
        std::ranges::replace(package, '.', '-');
        hint += base::format(", or install {} in the image, which works with these GPUs", package);
    }
    return hint;
}

/// "CUDA 13.0.1 needs ...": one finding for all of `uses`, the most telling of which is first.
Cause too_old(const DriverStack& driver, std::span<const Gpu> chosen,
              const std::vector<const CudaUse*>& uses, std::string_view supported)
{
    const CudaUse& first = *uses.front();
    const std::string_view needed = driver_for_cuda(first.version);
    std::string text =
        needed.empty() || !is_driver_version(driver.version)
            ? base::format("is for CUDA {}, which the host's driver {} does not support",
                           first.version, driver.version)
            : base::format("is for CUDA {}, which needs driver {} or later; the host's is {}",
                           first.version, needed, driver.version);
    text += base::format(", for CUDA {}", supported);
    std::vector<std::string> others;
    for (const CudaUse* const use : uses)
        if (use->what != first.what && others.size() < most_named
            && std::ranges::find(others, use->what) == others.end())
            others.push_back(use->what);
    if (!others.empty())
        text += base::format("; the same is true of {}", base::joined(others, ", "));
    return {{FindingCode::driver_too_old, first.what, std::move(text), first.evidence,
             advice_on(driver, chosen, first, supported), model::Capability::compute},
            Stage::init};
}

} // namespace

std::string_view driver_for_cuda(std::string_view cuda)
{
    if (const CudaMajor* const major = find_major(cuda))
        return major->driver;
    const auto all = releases();
    const auto found = std::ranges::find_if(
        all, [&](const Release& release) { return std::is_gteq(compare(release.cuda, cuda)); });
    return found == all.end() ? std::string_view() : found->version;
}

bool is_too_old(const DriverStack& driver, std::string_view cuda, std::string_view own)
{
    const SupportedCuda host = supported_cuda(driver.version);
    if (host.version.empty() || host.or_later)
        return false;
    if (std::is_lteq(compare(cuda, newer(host.version, own))))
        return false;
    if (!own.empty() && find_major(cuda) != nullptr && major_in(own) == major_in(cuda))
        return false;
    if (major_in(host.version) != major_in(cuda))
        return true;
    const CudaMajor* const major = find_major(cuda);
    if (major == nullptr)
        return true;
    // A Tegra's driver has a number of its own, and is for one major release.
    return is_driver_version(driver.version) && std::is_lt(compare(driver.version, major->driver));
}

std::string own_cuda(const ContainerToCheck& container, const DriverStack& driver,
                     std::span<const Gpu> chosen)
{
    if (!container.may_use_own_driver)
        return "";
    for (const std::string& directory : compat_directories(driver)) {
        const std::string path = base::format("{}/{}", directory, compat.library);
        if (container.view.resolve(path).type != rootfs::EntryType::regular)
            continue;
        CompatLibrary library = {directory, version_behind(container.view, path), {}};
        const auto file = container.view.open(path);
        auto notes = file ? elf::read_notes(file->get(), compat.note_owner)
                          : Result<std::vector<std::string>>(std::vector<std::string>());
        if (notes)
            library.notes = *std::move(notes);
        if (judge_compat(driver, chosen, library).objection.empty())
            return cuda_of(library);
    }
    return "";
}

void check_cuda(const ContainerToCheck& container, const DriverStack& driver,
                std::span<const Gpu> chosen, model::Causes& causes)
{
    std::vector<CudaUse> uses = cuda_uses(container);
    if (std::ranges::none_of(
            uses, [&](const CudaUse& use) { return is_too_old(driver, use.version, ""); }))
        return;
    const std::string own = own_cuda(container, driver, chosen);
    const std::string supported(newer(supported_cuda(driver.version).version, own));
    std::vector<const CudaUse*> of_program;
    std::vector<const CudaUse*> of_others;
    bool any_fits = false;
    for (const CudaUse& use : uses) {
        if (!is_too_old(driver, use.version, own))
            any_fits = true;
        else
            (use.is_loaded ? of_program : of_others).push_back(&use);
    }
    // What is not known to be loaded may be, unless something that works is there for that.
    const bool is_certain = !of_program.empty() || !any_fits;
    std::vector<const CudaUse*>& first = of_program.empty() ? of_others : of_program;
    if (!of_program.empty() && !any_fits)
        first.insert(first.end(), of_others.begin(), of_others.end());
    if (first.empty())
        return;
    Cause cause = too_old(driver, chosen, first, supported);
    cause.blocks = is_certain ? Blocks::all : Blocks::some;
    causes.push_back(std::move(cause));
    if (&first == &of_program && any_fits && !of_others.empty()) {
        Cause rest = too_old(driver, chosen, of_others, supported);
        rest.blocks = Blocks::some;
        causes.push_back(std::move(rest));
    }
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/toolkit.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/json_text.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "requirement/expression.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::drivers::nvidia {
namespace {

using requirement::compare;

constexpr std::size_t largest_version_file = 64U << 10U;
constexpr std::size_t largest_header = 4U << 20U; // that of CUDA 12 has one MiB
constexpr std::size_t deepest_version_file = 16;
constexpr std::size_t longest_version = 16;

/// What a toolkit of this or a later major release builds runs with each driver of the same one,
/// from NVIDIA's "CUDA Compatibility" (minor version compatibility).
constexpr std::uint64_t first_compatible_major = 11;

std::uint64_t major_of(std::string_view version)
{
    return base::to_number(version.substr(0, version.find('.'))).value_or(0);
}

/// "12.4" of "12.4.131": a driver supports all of these.
std::string without_patch(std::string_view version)
{
    const std::size_t dot = version.find('.');
    return std::string(
        version.substr(0, dot == std::string_view::npos ? dot : version.find('.', dot + 1)));
}

/// Content of a file in the toolkit, whose links do not lead out of it; "" if it cannot be read.
std::string content_of(int directory, const char* name, std::size_t limit)
{
    const auto file =
        base::open_below(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (!file)
        return "";
    auto content = base::read_all(file->get(), limit);
    return content ? *std::move(content) : "";
}

/// The first branch of the driver that supports a version of CUDA; null if none is known.
const Release* release_for(std::string_view cuda)
{
    const auto all = releases();
    const auto found = std::ranges::find_if(
        all, [&](const Release& release) { return std::is_gteq(compare(release.cuda, cuda)); });
    return found == all.end() ? nullptr : &*found;
}

std::string hint_for(const model::DriverStack& driver, const Toolkit& toolkit,
                     std::string_view supported)
{
    const Release* const release =
        is_driver_version(driver.version) ? release_for(toolkit.version) : nullptr;
    return base::format("install {}, or a toolkit of CUDA {} or earlier",
                        release != nullptr ? base::format("driver {} or later", release->version)
                                           : "a newer driver",
                        supported);
}

} // namespace

std::string cuda_of_version_file(std::string_view text)
{
    if (base::json_depth(text) > deepest_version_file)
        return "";
    const auto file = nlohmann::json::parse(text, nullptr, false);
    if (!file.is_object() || !file.contains("cuda"))
        return "";
    const auto& cuda = file["cuda"];
    if (!cuda.is_object() || !cuda.contains("version") || !cuda["version"].is_string())
        return "";
    const auto& version = cuda["version"].get_ref<const std::string&>();
    return version.size() <= longest_version && requirement::is_version(version)
               ? without_patch(version)
               : "";
}

std::string cuda_of_header(std::string_view text)
{
    constexpr std::string_view definition = "\n#define CUDA_VERSION ";
    constexpr std::uint64_t of_major = 1000;
    constexpr std::uint64_t of_minor = 10;
    const std::size_t at = text.find(definition);
    if (at == std::string_view::npos)
        return "";
    const std::string_view rest = text.substr(at + definition.size());
    const auto number = base::to_number(base::trim(rest.substr(0, rest.find('\n'))));
    if (!number || *number < of_major || *number >= of_major * of_major)
        return "";
    return base::format("{}.{}", *number / of_major, *number % of_major / of_minor);
}

Result<Toolkit> read_toolkit(const std::string& directory)
{
    const base::UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status = {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, "open", Errc::usage).with_object(directory);
    GPUCTR_CHECK(base::open_own_descriptors());
    GPUCTR_TRY(std::string path, base::path_of(fd.get()));
    std::string version =
        cuda_of_version_file(content_of(fd.get(), "version.json", largest_version_file));
    if (version.empty())
        version = cuda_of_header(content_of(fd.get(), "include/cuda.h", largest_header));
    if (version.empty())
        return Error(Errc::usage,
                     "neither its version.json nor its include/cuda.h tells its version")
            .with_object(directory)
            .with_hint("name a directory such as /usr/local/cuda-12.4, with bin/nvcc in it");
    return Toolkit{std::move(path), model::FileId::of(status), std::move(version)};
}

std::vector<std::string> usual_toolkits(const std::string& root)
{
    const std::string above = root + "/usr/local";
    constexpr std::string_view stem = "cuda-";
    std::vector<std::string> versions;
    if (auto names = base::list_directory(AT_FDCWD, above))
        for (const std::string& name : *names)
            if (name.starts_with(stem) && requirement::is_version(name.substr(stem.size())))
                versions.push_back(name.substr(stem.size()));
    std::ranges::sort(versions, [](const std::string& one, const std::string& other) {
        return std::is_gt(compare(one, other));
    });
    std::vector<std::string> directories = {above + "/cuda"};
    for (const std::string& version : versions)
        directories.push_back(base::format("{}/{}{}", above, stem, version));
    return directories;
}

ToolkitVerdict judge_toolkit(const model::DriverStack& driver, const Toolkit& toolkit)
{
    const SupportedCuda host = supported_cuda(driver.version);
    if (host.version.empty())
        return {"", base::format("it is for CUDA {}, and it is not known which CUDA the driver {} "
                                 "supports",
                                 toolkit.version, driver.version)};
    if (std::is_lteq(compare(toolkit.version, host.version)))
        return {};
    if (host.or_later)
        return {"", base::format("it is for CUDA {}, and of the driver {} it is only known that it "
                                 "supports CUDA {} or later",
                                 toolkit.version, driver.version, host.version)};
    std::string difference = base::format("it is for CUDA {}, and the driver {} supports CUDA {}",
                                          toolkit.version, driver.version, host.version);
    std::string hint = hint_for(driver, toolkit, host.version);
    const std::uint64_t major = major_of(toolkit.version);
    if (major != major_of(host.version) || major < first_compatible_major)
        return {std::move(difference), "", std::move(hint)};
    return {"", difference + ": programs that need what is new, or have PTX alone, fail",
            std::move(hint)};
}

} // namespace gpucontainer::drivers::nvidia

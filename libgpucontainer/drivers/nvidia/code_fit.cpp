// SPDX-License-Identifier: MIT
#include "drivers/nvidia/code_fit.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/gpu_code.hpp"
#include "drivers/python_packages.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Gpu;
using model::Stage;

constexpr std::size_t most_files = 512;
/// Of headers, for all files. Reading one takes less than a microsecond if it is in memory. PyTorch
/// 2.11 has 3 200, and the largest library of CUDA 13 has 8 500.
constexpr std::size_t most_entries = 60'000;
/// The same of a compressed image, of which a block is unpacked for each.
constexpr std::size_t most_compressed = 500;

/// Libraries that have a framework's own code for GPUs, below a directory of Python's packages.
constexpr std::array<std::string_view, 10> framework_libraries = {
    "torch/lib/libtorch_cuda.so",
    "torch/lib/libtorch_cuda_cu.so", // before 2.0, if it is built in parts
    "tensorflow/libtensorflow_cc.so.2",
    "tensorflow/python/_pywrap_tensorflow_internal.so",
    "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
    "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
    "jaxlib/xla_extension.so",
    "onnxruntime/capi/libonnxruntime_providers_cuda.so",
    "llama_cpp/lib/libggml-cuda.so",
    "vllm/_C.abi3.so",
};

/// GPUs of one compute capability.
struct GpuKind {
    unsigned architecture = 0;
    std::string capability; ///< "12.0"
    std::string title;      ///< "GPU 0 (NVIDIA GeForce RTX 5090)"
};

struct CodeFile {
    std::string path;
    bool is_loaded = false;
    bool is_main = false; ///< The program itself, or a framework: it runs nothing without its code.
    GpuCode code;
};

std::vector<GpuKind> kinds_of(std::span<const Gpu> chosen)
{
    std::vector<GpuKind> kinds;
    for (const Gpu& gpu : chosen) {
        const unsigned architecture = architecture_number(gpu.architecture);
        const bool is_known =
            std::ranges::find(kinds, architecture, &GpuKind::architecture) != kinds.end();
        if (architecture == 0 || is_known)
            continue;
        kinds.push_back({architecture, gpu.architecture,
                         gpu.model.empty() ? base::format("GPU {}", gpu.label())
                                           : base::format("GPU {} ({})", gpu.label(), gpu.model)});
    }
    return kinds;
}

bool is_set(const ContainerToCheck& container, const char* variable)
{
    const auto found = container.environment.find(variable);
    return found != container.environment.end() && found->second == "1";
}

bool is_of_framework(std::string_view path)
{
    return std::ranges::any_of(framework_libraries, [&](std::string_view library) {
        return path.size() > library.size() && path.ends_with(library)
               && path[path.size() - library.size() - 1] == '/';
    });
}

/// A program, or a script and its interpreter, has another name.
bool is_library(std::string_view path)
{
    return base::name_of(path).find(".so") != std::string_view::npos;
}

/// Reads the code of each file once, within the limits.
class Reader {
public:
    Reader(const ContainerToCheck& container, const model::DriverStack& driver,
           const std::vector<GpuKind>& kinds)
        : container_(container), driver_(driver),
          only_translated_(is_set(container, "CUDA_FORCE_PTX_JIT")),
          none_translated_(is_set(container, "CUDA_DISABLE_PTX_JIT"))
    {
        if (!only_translated_) // else what a GPU runs directly does not suffice
            for (const GpuKind& kind : kinds)
                wanted_.push_back(kind.architecture);
    }

    std::vector<CodeFile> run()
    {
        for (const std::string& path : container_.loaded)
            if (!is_of_driver(path))
                add(path, true, !is_library(path) || is_of_framework(path));
        for (const PackageDirectory& directory : package_directories(container_))
            for (const std::string_view library : framework_libraries)
                if (std::ranges::binary_search(directory.names,
                                               std::string(library.substr(0, library.find('/')))))
                    add(base::format("{}/{}", directory.path, library), false, true);
        return std::move(files_);
    }

private:
    /// The driver's libraries have code for what it does itself.
    bool is_of_driver(std::string_view path) const
    {
        const std::string_view name = base::name_of(path);
        return std::ranges::any_of(driver_.files, [&](const model::DriverFile& file) {
            return name == file.soname || name == file.name;
        });
    }

    void add(const std::string& path, bool is_loaded, bool is_main)
    {
        if (seen_.size() == most_files)
            return;
        const rootfs::Entry entry = container_.view.resolve(path);
        const bool again = std::ranges::any_of(
            seen_, [&](const rootfs::Entry& other) { return other.same_file(entry); });
        if (entry.type != rootfs::EntryType::regular || again)
            return;
        seen_.push_back(entry);
        const auto file = container_.view.open(path);
        if (!file)
            return;
        std::size_t& budget = file->get().comes_in_parts() ? compressed_budget_ : budget_;
        GpuCode code = read_gpu_code(file->get(), wanted_, budget);
        if (code.empty())
            return;
        if (only_translated_)
            code.machine.clear();
        if (none_translated_)
            code.translated.clear();
        files_.push_back({path, is_loaded, is_main, std::move(code)});
    }

    const ContainerToCheck& container_;
    const model::DriverStack& driver_;
    bool only_translated_;
    bool none_translated_;
    std::vector<unsigned> wanted_;
    std::size_t budget_ = most_entries;
    std::size_t compressed_budget_ = most_compressed;
    std::vector<rootfs::Entry> seen_;
    std::vector<CodeFile> files_;
};

/// As fit_of(), for a file with code, of which variables may have left none.
Fit fit_in(const CodeFile& file, const GpuKind& kind)
{
    if (file.code.empty())
        return file.code.complete && !file.code.cut_off ? Fit::none : Fit::unknown;
    return fit_of(file.code, kind.architecture);
}

/// "sm_80, sm_90 and PTX for compute_90"
std::string listed(const GpuCode& code)
{
    std::vector<std::string> machine;
    for (const unsigned one : code.machine)
        machine.push_back(base::format("sm_{}", one));
    std::string text = base::joined(machine, ", ");
    if (!code.translated.empty())
        text += base::format("{}PTX for compute_{}", text.empty() ? "" : " and ",
                             *code.translated.begin());
    return text.empty() ? "nothing that may be used" : text;
}

/// The file because of which programs do not run on GPUs of this kind; null if there is none.
const CodeFile* lacking(const std::vector<CodeFile>& files, const GpuKind& kind, bool loaded)
{
    const auto lacks = [&](const CodeFile& file) {
        const Fit fit = fit_in(file, kind);
        return file.is_loaded == loaded && (fit == Fit::none || fit == Fit::unlikely);
    };
    for (const CodeFile& file : files)
        if (file.is_main && lacks(file))
            return &file;
    // A library may be for some GPUs alone if others of the program's are for this one.
    const bool any_fits = std::ranges::any_of(
        files, [&](const CodeFile& file) { return file.is_loaded == loaded && !lacks(file); });
    const auto found = std::ranges::find_if(files, lacks);
    return any_fits || found == files.end() ? nullptr : &*found;
}

Cause no_code(const CodeFile& file, const GpuKind& kind)
{
    Cause cause = {
        {FindingCode::code_missing, kind.title,
         base::format("is of compute capability {}, and {} has code for {} alone", kind.capability,
                      file.path, listed(file.code)),
         file.path,
         base::format("use a build for compute capability {}, or one with PTX of that or an "
                      "earlier one",
                      kind.capability),
         model::Capability::compute},
        Stage::code};
    cause.certain = fit_in(file, kind) == Fit::none;
    return cause;
}

Cause translation(const CodeFile& file, const GpuKind& kind)
{
    Cause cause = {{FindingCode::code_missing, kind.title,
                    base::format("gets the code of {} by translation of its PTX: the first start "
                                 "takes long",
                                 file.path),
                    file.path, "", model::Capability::compute},
                   Stage::code};
    cause.remark = true;
    return cause;
}

} // namespace

void check_code(const ContainerToCheck& container, const model::DriverStack& driver,
                std::span<const Gpu> chosen, model::Causes& causes)
{
    const std::vector<GpuKind> kinds = kinds_of(chosen);
    if (kinds.empty())
        return;
    const std::vector<CodeFile> files = Reader(container, driver, kinds).run();
    const bool all_lack = std::ranges::all_of(
        kinds, [&](const GpuKind& kind) { return lacking(files, kind, true) != nullptr; });
    for (const GpuKind& kind : kinds) {
        const CodeFile* const loaded = lacking(files, kind, true);
        const CodeFile* const other = loaded != nullptr ? nullptr : lacking(files, kind, false);
        if (loaded != nullptr || other != nullptr) {
            causes.push_back(no_code(loaded != nullptr ? *loaded : *other, kind));
            causes.back().blocks = loaded != nullptr && all_lack ? Blocks::all : Blocks::some;
            continue;
        }
        const auto translated = std::ranges::find_if(files, [&](const CodeFile& file) {
            return file.is_main && fit_in(file, kind) == Fit::translated;
        });
        if (translated != files.end())
            causes.push_back(translation(*translated, kind));
    }
}

} // namespace gpucontainer::drivers::nvidia

// SPDX-License-Identifier: MIT
#include "drivers/amd/rocblas.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/python_packages.hpp"
#include "elf/facts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace gpucontainer::drivers::amd {
namespace {

using rootfs::Entry;
using rootfs::EntryType;

constexpr std::string_view library_stem = "librocblas.so";
constexpr std::string_view kernels_above = "rocblas";
constexpr std::string_view kernels_name = "library";
constexpr std::size_t most_names = 50'000; ///< Kernels of rocBLAS 7 have some thousand names.
constexpr std::size_t most_installed = 4096;
constexpr std::size_t most_directories = 32;

/// Targets whose code runs on several architectures, from the table "Generic processors" of LLVM's
/// "User Guide for AMDGPU Backend".
struct GenericTarget {
    std::string_view name;
    std::string_view architectures; ///< Separated by blanks.
};
constexpr std::array generic_targets = {
    GenericTarget{"gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"},
    GenericTarget{"gfx9-4-generic", "gfx940 gfx941 gfx942 gfx950"},
    GenericTarget{"gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"},
    GenericTarget{"gfx10-3-generic", "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"},
    GenericTarget{"gfx11-generic",
                  "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"},
    GenericTarget{"gfx12-generic", "gfx1200 gfx1201"},
};

bool is_rocblas(std::string_view name)
{
    return name == library_stem
           || (name.starts_with(library_stem) && name[library_stem.size()] == '.');
}

/// Whether the program needs rocBLAS, or what it needs is not known: something is missing, or it is
/// for another machine, so that its libraries are not loaded.
bool may_need_rocblas(const ContainerToCheck& container)
{
    constexpr std::size_t most_looked_at = 256;
    const std::span all(container.loaded);
    const bool has_libraries = std::ranges::any_of(all, [](const std::string& path) {
        return base::name_of(path).find(".so") != std::string_view::npos;
    });
    return std::ranges::any_of(all.first(std::min(all.size(), most_looked_at)),
                               [&](const std::string& path) {
                                   const auto file = container.view.open(path);
                                   if (!file)
                                       return false;
                                   const auto facts = elf::read_facts(file->get());
                                   return facts
                                          && (std::ranges::any_of(facts->needed, is_rocblas)
                                              || (!has_libraries && !facts->needed.empty()));
                               });
}

/// Finds each rocBLAS once: beside the ones that the program loads, in ROCm's directories, and in
/// packages of Python.
class RocBlasSearch {
public:
    explicit RocBlasSearch(const ContainerToCheck& container) : container_(container) {}

    std::vector<RocBlas> run()
    {
        const std::string named = variable_of(container_, kernels_variable);
        find_in_rocm();
        for (const PackageDirectory& packages : package_directories(container_))
            for (const std::string& name : packages.names)
                if (name == "torch" || name.starts_with("_rocm_sdk_libraries"))
                    look_in(base::format("{}/{}/lib", packages.path, name));
        for (const std::string& path : container_.loaded)
            if (is_rocblas(base::name_of(path)))
                look_in(std::string(base::directory_of(path)));
        const bool none_is_loaded = std::ranges::none_of(found_, &RocBlas::is_loaded);
        const bool is_used = none_is_loaded && may_need_rocblas(container_);
        for (RocBlas& one : found_) {
            one.is_loaded = one.is_loaded || is_used;
            read_kernels(one, named);
        }
        return std::move(found_);
    }

private:
    /// "/opt/rocm-6.4.1/lib", and "/opt/rocm/core-7.14/lib".
    void find_in_rocm()
    {
        for (const std::string& home : rocm_homes(container_.view)) {
            look_in(home + "/lib");
            const auto parts = container_.view.list(home, most_installed);
            for (const std::string& part : parts ? *parts : std::vector<std::string>())
                if (part.starts_with("core-"))
                    look_in(base::format("{}/{}/lib", home, part));
        }
    }

    void look_in(const std::string& directory)
    {
        const Entry entry = container_.view.resolve(directory);
        if (entry.type != EntryType::directory || seen_.size() == most_directories
            || std::ranges::any_of(seen_,
                                   [&](const Entry& other) { return other.same_file(entry); }))
            return;
        seen_.push_back(entry);
        const auto names = container_.view.list(directory, most_names);
        if (!names || std::ranges::none_of(*names, is_rocblas))
            return;
        RocBlas found;
        found.kernels = kernels_of(directory);
        found.is_loaded = std::ranges::any_of(container_.loaded, [&](const std::string& loaded) {
            return is_rocblas(base::name_of(loaded))
                   && container_.view.resolve(std::string(base::directory_of(loaded)))
                          .same_file(entry);
        });
        found_.push_back(std::move(found));
    }

    /// "rocblas/library" beside the library; distributions have a version in between.
    std::string kernels_of(const std::string& directory) const
    {
        const std::string above = base::format("{}/{}", directory, kernels_above);
        std::string usual = base::format("{}/{}", above, kernels_name);
        if (container_.view.resolve(usual))
            return usual;
        const auto names = container_.view.list(above, most_installed);
        for (const std::string& name : names ? *names : std::vector<std::string>()) {
            std::string versioned = base::format("{}/{}/{}", above, name, kernels_name);
            if (container_.view.resolve(versioned).type == EntryType::directory)
                return versioned;
        }
        return usual;
    }

    void read_kernels(RocBlas& one, const std::string& named) const
    {
        const std::string& directory = named.starts_with('/') ? named : one.kernels;
        const auto names = container_.view.list(directory, most_names);
        if (!names) // more than can be looked at, or none
            one.has_kernels = container_.view.resolve(directory).type == EntryType::directory;
        for (const std::string& name : names ? *names : std::vector<std::string>()) {
            one.has_kernels = true;
            if (const auto target = target_in(name); !target.empty())
                one.targets.emplace(target);
        }
    }

    const ContainerToCheck& container_;
    std::vector<Entry> seen_;
    std::vector<RocBlas> found_;
};

} // namespace

std::string variable_of(const ContainerToCheck& container, const char* name)
{
    const auto found = container.environment.find(name);
    return found == container.environment.end() ? "" : found->second;
}

std::string_view family_of(std::string_view target)
{
    constexpr std::size_t of_stepping = 2; ///< Minor number and stepping have a digit each.
    return target.size() <= of_stepping ? target : target.substr(0, target.size() - of_stepping);
}

std::string_view target_in(std::string_view name)
{
    constexpr std::string_view mark = "gfx";
    constexpr std::string_view generic = "-generic";
    constexpr std::size_t shortest = 3; ///< Digits of a target, "gfx900".
    const auto start = name.rfind(mark);
    if (start == std::string_view::npos)
        return {};
    const std::string_view rest = name.substr(start);
    if (const auto end = rest.find(generic); end != std::string_view::npos)
        return rest.substr(0, end + generic.size());
    const auto end = rest.find_first_not_of("0123456789abcdef", mark.size());
    const std::string_view target = rest.substr(0, end);
    return target.size() < mark.size() + shortest ? std::string_view() : target;
}

bool runs_on(std::string_view target, std::string_view architecture)
{
    if (target == architecture)
        return true;
    constexpr std::string_view ending = "-generic";
    if (!target.ends_with(ending))
        return false;
    const auto* const generic = std::ranges::find(generic_targets, target, &GenericTarget::name);
    if (generic == generic_targets.end()) // of a release after this one
        return target.starts_with(family_of(architecture));
    const auto all = base::split(generic->architectures, ' ');
    return std::ranges::find(all, architecture) != all.end();
}

std::vector<std::string> rocm_homes(const rootfs::View& view)
{
    std::vector<std::string> homes;
    const auto in_opt = view.list("/opt", most_installed);
    for (const std::string& name : in_opt ? *in_opt : std::vector<std::string>())
        if (std::string home = "/opt/" + name; name.starts_with("rocm")
                                               && homes.size() < most_directories
                                               && view.look(home).type == EntryType::directory)
            homes.push_back(std::move(home));
    return homes;
}

std::vector<RocBlas> find_rocblas(const ContainerToCheck& container)
{
    return RocBlasSearch(container).run();
}

} // namespace gpucontainer::drivers::amd

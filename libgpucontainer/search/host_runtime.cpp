// SPDX-License-Identifier: MIT
#include "search/host_runtime.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "elf/symbol_versions.hpp"
#include "host/driver_root.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

namespace gpucontainer::search {

using model::VersionNeed;

namespace {

using Kind = CLibraryPart::Kind;

constexpr std::array c_library_parts = {
    CLibraryPart{c_library, Kind::core},
    CLibraryPart{"libm.so.6", Kind::core},
    CLibraryPart{"libdl.so.2", Kind::core},
    CLibraryPart{"libpthread.so.0", Kind::core},
    CLibraryPart{"librt.so.1", Kind::core},
    CLibraryPart{"libresolv.so.2", Kind::core},
    CLibraryPart{"libutil.so.1", Kind::core},
    CLibraryPart{"libanl.so.1", Kind::linked},
    CLibraryPart{"libmvec.so.1", Kind::linked},
    CLibraryPart{"libnsl.so.1", Kind::linked},
    CLibraryPart{"libcidn.so.1", Kind::linked},
    CLibraryPart{"libBrokenLocale.so.1", Kind::linked},
    CLibraryPart{"libnss_files.so.2", Kind::by_name},
    CLibraryPart{"libnss_dns.so.2", Kind::by_name},
    CLibraryPart{"libnss_compat.so.2", Kind::by_name},
    CLibraryPart{"libnss_db.so.2", Kind::by_name},
    CLibraryPart{"libnss_hesiod.so.2", Kind::by_name},
    CLibraryPart{"libnss_nis.so.2", Kind::by_name},
    CLibraryPart{"libnss_nisplus.so.2", Kind::by_name},
    CLibraryPart{"libthread_db.so.1", Kind::by_name},
    CLibraryPart{"libc_malloc_debug.so.0", Kind::by_name},
    CLibraryPart{"libmemusage.so", Kind::by_name},
    CLibraryPart{"libpcprofile.so", Kind::by_name},
    CLibraryPart{"libSegFault.so", Kind::by_name},
};

constexpr std::array<std::string_view, 2> compiler_libraries = {standard_library, "libgcc_s.so.1"};
constexpr std::size_t largest_c_library = 64U << 20U;

/// "Debian GLIBC 2.36-9, 2.36" of "GNU C Library (Debian GLIBC 2.36-9) stable release version
/// 2.36.", in which `words` end with the bracket; "" if there is no such text.
std::string release_in(std::string_view content, std::string_view words)
{
    constexpr std::string_view before_number = " release version ";
    constexpr std::size_t longest = 256;
    for (std::size_t at = 0; (at = content.find(words, at)) != std::string_view::npos;) {
        at += words.size();
        const std::string_view text = content.substr(at, longest);
        const std::size_t end = text.find(')');
        const std::size_t number = text.find(before_number);
        if (number == std::string_view::npos || end > number)
            continue;
        const std::string_view rest = text.substr(number + before_number.size());
        std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
        while (version.ends_with('.'))
            version.remove_suffix(1);
        std::string release = base::format("{}, {}", text.substr(0, end), version);
        if (std::ranges::none_of(release, base::is_control))
            return release;
    }
    return "";
}

/// A file that is looked at, before it is known whether it is taken.
struct Part {
    RuntimeFile file;
    std::string real_path; ///< In the driver root.
    std::string soname;    ///< That it has itself.
    std::vector<elf::NeededVersion> needed;
    elf::Symbols own; ///< Symbols that only files of its build have and need.
};

bool has(const std::vector<std::string>& sorted, const std::string& text)
{
    return std::ranges::binary_search(sorted, text);
}

class RuntimeSearch {
public:
    explicit RuntimeSearch(const host::DriverRoot& root) : root_(root) {}

    HostRuntime run(std::span<const model::DriverStack> drivers)
    {
        find_c_library();
        for (const std::string_view soname : compiler_libraries)
            if (auto found = find_loaded(std::string(soname)))
                found_.compiler.push_back(std::move(found->file));
        for (const model::DriverStack& driver : drivers)
            for (const model::DriverFile& file : driver.files)
                note_needs(file);
        return std::move(found_);
    }

private:
    HostCLibrary& c_library_found() { return found_.c_library; }

    void find_c_library()
    {
        c_library_found().problem = collect_parts();
        if (c_library_found().problem.empty())
            c_library_found().problem = find_stranger();
        if (!c_library_found().problem.empty())
            return;
        for (Part& part : parts_)
            c_library_found().files.push_back(std::move(part.file));
        c_library_found().home = home_;
        find_gconv();
    }

    /// Finds the parts, which lie in one directory. What is wrong; "" if nothing is.
    std::string collect_parts()
    {
        const std::string loader(root_.machine().loader);
        auto first = read(loader, std::string(base::name_of(loader)));
        if (!first)
            return missing(loader);
        home_ = base::directory_of(first->real_path);
        parts_.push_back(*std::move(first));
        for (const CLibraryPart& wanted : c_library_parts) {
            const std::string soname(wanted.soname);
            auto part = read(base::format("{}/{}", home_, soname), soname);
            if (!part && wanted.kind == Kind::core)
                return missing(base::format("{}/{}", home_, soname));
            if (part)
                parts_.push_back(*std::move(part));
        }
        return "";
    }

    std::string missing(const std::string& path) const
    {
        return base::format("it is incomplete: {}{} is missing, or no such library", root_.prefix(),
                            path);
    }

    /// What is of another build than the others; "" if all are of one.
    std::string find_stranger()
    {
        if (std::string problem = compare_releases(); !problem.empty())
            return problem;
        std::set<std::string> own;
        for (const Part& part : parts_)
            own.insert(part.own.defined.begin(), part.own.defined.end());
        for (const Part& part : parts_) {
            if (base::directory_of(part.real_path) != home_)
                return of_another_build(part, base::format("it lies not in {}", home_));
            for (const std::string& symbol : part.own.undefined)
                if (!own.contains(symbol))
                    return of_another_build(part,
                                            base::format("no other has its symbol {}", symbol));
            for (const elf::NeededVersion& need : part.needed)
                if (const Part* const other = part_of(need.library);
                    other != nullptr && !has(other->file.versions, need.version))
                    return of_another_build(
                        part, base::format("{} has no {}", need.library, need.version));
        }
        return "";
    }

    static std::string of_another_build(const Part& part, const std::string& why)
    {
        return base::format("its files are of different builds: {}: {}", part.file.path, why);
    }

    /// The C library and the loader say of which release they are. Older loaders do not.
    std::string compare_releases()
    {
        const std::string of_loader = release_of(parts_[0], "ld.so (");
        const std::string of_library = release_of(parts_[1], "GNU C Library (");
        if (of_library.empty())
            return base::format("{} does not tell its release", parts_[1].file.path);
        if (!of_loader.empty() && of_loader != of_library)
            return of_another_build(parts_[0], base::format("it is of {}, and {} of {}", of_loader,
                                                            c_library, of_library));
        c_library_found().release = of_library;
        return "";
    }

    std::string release_of(const Part& part, std::string_view words) const
    {
        const auto opened = root_.open_file(part.real_path);
        if (!opened)
            return "";
        const auto content =
            root_.noted(base::read_all(opened->fd.get(), largest_c_library), part.real_path);
        return content ? release_in(*content, words) : "";
    }

    const Part* part_of(const std::string& soname) const
    {
        const auto found = std::ranges::find_if(
            parts_, [&](const Part& part) { return part.file.soname == soname; });
        return found == parts_.end() ? nullptr : &*found;
    }

    void find_gconv()
    {
        const auto directory = root_.open_directory(base::format("{}/gconv", home_));
        if (!directory)
            return;
        const auto status = root_.look(directory->real_path);
        if (!status)
            return;
        c_library_found().gconv = root_.prefix() + directory->real_path;
        c_library_found().gconv_id = model::FileId::of(*status);
    }

    /// A library of this machine that has the soname; none if it is not.
    std::optional<Part> read(const std::string& path, const std::string& soname)
    {
        const auto opened = root_.open_file(path);
        if (!opened)
            return std::nullopt;
        const int fd = opened->fd.get();
        const auto facts = root_.noted(elf::read_facts(fd), path);
        // A few that are loaded by the name of their file have no soname.
        if (!facts || !elf::is_for(*facts, root_.machine())
            || (facts->soname != soname && !facts->soname.empty()))
            return std::nullopt;
        auto versions = root_.noted(elf::read_defined_versions(fd), path);
        auto needed = root_.noted(elf::read_needed_versions(fd), path);
        auto needs = root_.noted(read_version_needs(fd), path);
        auto own = root_.noted(elf::read_symbols_of_version(fd, private_version), path);
        if (!versions || !needed || !needs || !own)
            return std::nullopt;
        std::ranges::sort(*versions);
        return Part{{soname, root_.prefix() + opened->real_path, model::FileId::of(opened->status),
                     *std::move(versions), *std::move(needs)},
                    opened->real_path,
                    facts->soname,
                    *std::move(needed),
                    *std::move(own)};
    }

    /// The one that the loader finds.
    std::optional<Part> find_loaded(const std::string& soname)
    {
        for (const elf::CacheEntry& entry : root_.cached(soname))
            if (root_.is_loaded(entry))
                if (auto part = read(std::string(entry.value), soname))
                    return part;
        for (const std::string& directory : root_.configured_directories())
            if (auto part = read(base::format("{}/{}", directory, soname), soname))
                return part;
        return std::nullopt;
    }

    void note_needs(const model::DriverFile& file)
    {
        if (!file.versions.empty() || file.compat32 || file.kind == model::FileKind::data
            || !base::is_below(file.path, root_.prefix().empty() ? "/" : root_.prefix()))
            return;
        const std::string path = file.path.substr(root_.prefix().size());
        const auto opened = root_.open_file(path);
        if (!opened)
            return;
        if (auto needs = root_.noted(read_version_needs(opened->fd.get()), path))
            found_.needs.emplace(file.path, *std::move(needs));
    }

    const host::DriverRoot& root_;
    std::string home_; ///< Of the C library, in the driver root.
    std::vector<Part> parts_;
    HostRuntime found_;
};

} // namespace

const RuntimeFile* HostCLibrary::find(std::string_view soname) const
{
    const auto found = std::ranges::find(files, soname, &RuntimeFile::soname);
    return found == files.end() ? nullptr : &*found;
}

const std::vector<VersionNeed>& HostRuntime::needs_of(const model::DriverFile& file) const
{
    const auto found = needs.find(file.path);
    return found == needs.end() ? file.versions : found->second;
}

std::span<const CLibraryPart> parts_of_c_library() { return c_library_parts; }

bool is_of_compiler(std::string_view soname)
{
    return std::ranges::find(compiler_libraries, soname) != compiler_libraries.end();
}

Result<HostRuntime> find_host_runtime(std::span<const model::DriverStack> drivers)
{
    HostRuntime none;
    if (drivers.empty())
        return none;
    const std::string& path = drivers.front().root;
    if (!std::ranges::all_of(drivers, [&](const auto& driver) { return driver.root == path; })) {
        none.c_library.problem = "the drivers have different driver roots";
        return none;
    }
    GPUCTR_TRY(const host::DriverRoot root, host::DriverRoot::open(path));
    HostRuntime found = RuntimeSearch(root).run(drivers);
    GPUCTR_CHECK(root.check());
    return found;
}

} // namespace gpucontainer::search

// SPDX-License-Identifier: MIT
#include "drivers/nvidia/user_space.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/directories.hpp"
#include "drivers/nvidia/libraries.hpp"
#include "drivers/nvidia/tools.hpp"
#include "search/loader_path.hpp"
#include "search/site_files.hpp"

#include <algorithm>
#include <iterator>

namespace gpucontainer::drivers::nvidia {

using model::Catalogue;
using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;
using model::FindingCode;
using model::VersionSource;

namespace {

class Search {
public:
    Search(const host::DriverRoot& root, Catalogue catalogue, std::optional<std::string> version,
           VersionSource source)
        : root_(root), wanted_{catalogue, std::move(version), source == VersionSource::module},
          libraries_(root, wanted_)
    {
    }

    Result<UserSpace> run()
    {
        GPUCTR_CHECK(find_main_library());
        libraries_.run();
        libraries_.report_missing();
        const std::vector<std::string>& directories = libraries_.directories;
        found_.prefixes = prefixes_of(directories);
        found_.directories = directories;
        find_compat32();
        append(found_.files, std::move(libraries_.files));
        append(found_.findings, std::move(libraries_.findings));
        find_tools(root_, wanted_.catalogue, directories.front(), found_.files, found_.findings);
        search::sort(found_.files);
        return std::move(found_);
    }

private:
    Result<void> find_main_library()
    {
        const std::string soname(main_library);
        for (const LibrarySearch::Candidate& candidate : libraries_.candidates(soname))
            if (libraries_.take(candidate.path, soname))
                return use_directory_of_main_library();
        auto directories = root_.configured_directories();
        std::ranges::move(search::expand_directories(root_, odd_directories()),
                          std::back_inserter(directories));
        for (const std::string& directory : directories)
            if (libraries_.take(join(directory, soname), soname)) {
                GPUCTR_CHECK(use_directory_of_main_library());
                // The name may be a link. Other parts then lie beside the link, and no loader cache
                // tells which.
                libraries_.add_directory(directory);
                return {};
            }
        if (!root_.prefix().empty())
            directories.emplace_back("/"); // an unpacked driver has all its files there
        return find_unlinked_main_library(directories);
    }

    /// For a driver without links by ldconfig, such as an unpacked one.
    Result<void> find_unlinked_main_library(const std::vector<std::string>& directories)
    {
        constexpr std::string_view stem = "libcuda.so.";
        for (const std::string& directory : directories)
            for (const std::string& name : root_.list(directory))
                if (name.starts_with(stem) && is_driver_version(version_suffix(name))
                    && libraries_.take(join(directory, name), std::string(main_library)))
                    return use_directory_of_main_library();
        return no_main_library();
    }

    Result<void> use_directory_of_main_library()
    {
        const std::string& path = libraries_.files.front().path;
        found_.version = version_suffix(base::name_of(path));
        libraries_.use_version(found_.version);
        found_.library_directory = base::directory_of(path);
        libraries_.add_directory(
            std::string(base::directory_of(std::string_view(path).substr(root_.prefix().size()))));
        return {};
    }

    Error no_main_library()
    {
        std::string others;
        bool has_other_version = false;
        for (const model::Finding& finding : libraries_.findings)
            if (finding.object == main_library) {
                has_other_version |= finding.code == FindingCode::version_differs;
                others += base::format("{}{} {}", others.empty() ? "" : "; ", finding.evidence,
                                       finding.text);
            }
        const std::string wanted =
            wanted_.version ? base::format(" of version {}", *wanted_.version) : "";
        const std::string where = root_.prefix().empty() ? "on this host" : "in " + root_.prefix();
        std::string message = base::format("no {}{} {}", main_library, wanted, where);
        if (!others.empty())
            message += ": " + others;
        return Error(others.empty() ? Errc::no_device : Errc::driver, std::move(message))
            .with_object(std::string(main_library))
            .with_hint(advice(has_other_version));
    }

    const char* advice(bool has_other_version) const
    {
        if (libraries_.found_foreign() && !has_other_version)
            return "name a driver root whose files are for this machine's architecture";
        if (!has_other_version)
            return "install the driver's user space, or name its directory as driver root";
        if (!wanted_.is_of_module)
            return "name a version that is installed, or another driver root";
        return "user space and kernel module must be of one version: reboot, or reload the "
               "module, after a driver update";
    }

    /// The libraries for 32-bit programs, if they are installed. A directory of the others can have
    /// none, because the names are the same.
    void find_compat32()
    {
        if (elf::compat32_of(root_.machine()) == nullptr)
            return;
        WantedLibraries wanted = wanted_;
        wanted.compat32 = true;
        wanted.version = found_.version;
        LibrarySearch libraries(root_, wanted);
        libraries.use_version(found_.version);
        for (const std::string_view leading :
             {main_library, std::string_view("libGLX_nvidia.so.0")})
            if (const CatalogueRule* const rule =
                    model::find_rule(wanted.catalogue, FileKind::library, leading))
                libraries.look_up(*rule);
        for (std::string& directory :
             search::expand_directories(root_, compat32_directories(libraries_.directories)))
            if (!has_native_libraries(directory))
                libraries.add_directory(std::move(directory));
        libraries.scan_directories();
        if (!libraries.files.empty())
            libraries.run();
        append(found_.files, std::move(libraries.files));
        append(found_.findings, std::move(libraries.findings));
    }

    bool has_native_libraries(const std::string& directory) const
    {
        const auto opened = root_.open_directory(directory);
        return opened && std::ranges::any_of(libraries_.files, [&](const DriverFile& file) {
                   return base::directory_of(file.path) == root_.prefix() + opened->real_path;
               });
    }

    template <typename T>
    static void append(std::vector<T>& to, std::vector<T> from)
    {
        to.insert(to.end(), std::make_move_iterator(from.begin()),
                  std::make_move_iterator(from.end()));
    }

    const host::DriverRoot& root_;
    WantedLibraries wanted_;
    LibrarySearch libraries_;
    UserSpace found_;
};

} // namespace

Result<UserSpace> find_user_space(const host::DriverRoot& root, Catalogue catalogue,
                                  const std::optional<std::string>& version, VersionSource source)
{
    return Search(root, catalogue, version, source).run();
}

} // namespace gpucontainer::drivers::nvidia

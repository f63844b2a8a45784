// SPDX-License-Identifier: MIT
#include "detect/sources.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <utility>

namespace gpucontainer::detect {
namespace {

/// The directory with dev/, without links; "" for "/".
Result<std::string> dev_root_prefix(const std::string& path)
{
    if (path.empty())
        return std::string();
    const base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, base::format("device root {}", path), Errc::driver)
            .with_object(path)
            .with_hint("name the directory that holds the driver's /dev");
    GPUCTR_TRY(std::string prefix, base::path_of(fd.get()), "device root {}", path);
    return prefix == "/" ? std::string() : std::move(prefix);
}

} // namespace

Result<HostSources> HostSources::open(const Detection& detection, search::SiteCatalogue catalogue)
{
    HostSources opened;
    GPUCTR_TRY(auto root, about("driver_root", host::DriverRoot::open(detection.driver_root)));
    root.trace_in(detection.trace);
    GPUCTR_TRY(auto dev_root, about("dev_root", dev_root_prefix(detection.dev_root)));
    opened.pci_ = host::make_enumerator();
    opened.root_ = std::make_unique<host::DriverRoot>(std::move(root));
    opened.sources_ = std::make_unique<drivers::Sources>(drivers::Sources{
        *opened.pci_, *opened.root_, "", detection.driver_version, std::move(catalogue),
        std::move(dev_root), detection.mig_map, detection.whole_bus});
    return opened;
}

} // namespace gpucontainer::detect

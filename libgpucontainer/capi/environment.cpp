// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "image/open_root.hpp"
#include "import/container_environment.hpp"

#include <iterator>
#include <span>

using namespace gpucontainer;

namespace {

Result<imports::ContainerEnvironment> read_files(int rootfs_fd)
{
    if (rootfs_fd < 0)
        return imports::ContainerEnvironment();
    GPUCTR_TRY(const auto root, image::open_root(rootfs_fd));
    GPUCTR_TRY(auto read, imports::read_image(*root), "the environment of the image");
    return read;
}

Result<imports::ContainerEnvironment> read_environment(int rootfs_fd, const char* text,
                                                       const char* const* environment)
{
    GPUCTR_TRY(imports::ContainerEnvironment read, read_files(rootfs_fd));
    if (text != nullptr) {
        GPUCTR_TRY(auto more, about("text", imports::read_text(text)));
        for (auto& [name, value] : more.variables)
            read.variables.insert_or_assign(name, std::move(value));
        std::ranges::move(more.findings, std::back_inserter(read.findings));
    }
    std::size_t count = 0;
    while (environment != nullptr && environment[count] != nullptr)
        ++count;
    imports::add_prefixed({environment, count}, read.variables);
    return read;
}

} // namespace

gpuctr_status gpuctr_environment_read(int rootfs_fd, const char* text,
                                      const char* const* environment,
                                      gpuctr_environment** ret_environment,
                                      gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (ret_environment == nullptr)
            return Error(Errc::usage, "gpuctr_environment_read: ret_environment is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(auto read, read_environment(rootfs_fd, text, environment));
        std::vector<std::string> settings;
        settings.reserve(read.variables.size());
        for (const auto& [name, value] : read.variables)
            settings.push_back(base::format("{}={}", name, value));
        *ret_environment = new gpuctr_environment{std::move(settings), std::move(read.findings)};
        return {};
    });
}

void gpuctr_environment_free(gpuctr_environment* environment) { delete environment; }

size_t gpuctr_environment_count(const gpuctr_environment* environment)
{
    return environment->settings.size();
}
const char* gpuctr_environment_at(const gpuctr_environment* environment, size_t index)
{
    return capi::text_at(environment->settings, index);
}

size_t gpuctr_environment_finding_count(const gpuctr_environment* environment)
{
    return environment->findings.size();
}
const gpuctr_finding* gpuctr_environment_finding_at(const gpuctr_environment* environment,
                                                    size_t index)
{
    return capi::element_at<gpuctr_finding>(environment->findings, index);
}

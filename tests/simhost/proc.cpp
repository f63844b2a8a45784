// SPDX-License-Identifier: MIT
#include "parts.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "mounts.hpp"

#include <fcntl.h>

namespace gpucontainer::simhost {
namespace {

constexpr std::string_view driver_directory = "/proc/driver";

Result<void> mount_read_only(const std::string& source, const std::string& target)
{
    GPUCTR_TRY(const auto mount, clone_mount(AT_FDCWD, source));
    GPUCTR_CHECK(attach_mount(mount.get(), AT_FDCWD, target));
    return make_read_only(mount.get());
}

} // namespace

Result<void> stand_up_proc(Context& context)
{
    GPUCTR_TRY(Tree tree, make_tree(context, "proc"));
    constexpr std::size_t mount_point = sizeof("/proc") - 1;
    GPUCTR_CHECK(tree.directory("driver")); // empty too it hides the machine's
    for (const TextFile& file : context.host.proc)
        GPUCTR_CHECK(tree.file(file.path.substr(mount_point), file.content, 0444));

    const std::string source = context.path + "/proc";
    if (auto mounted = mount_read_only(source + "/driver", std::string(driver_directory)); !mounted)
        context.leave_out(driver_directory, mounted.error());
    for (const TextFile& file : context.host.proc) {
        if (base::is_below(file.path, driver_directory))
            continue;
        auto bound = mount_read_only(source + file.path.substr(mount_point), file.path);
        if (!bound)
            context.leave_out(file.path, bound.error());
    }
    return {};
}

} // namespace gpucontainer::simhost

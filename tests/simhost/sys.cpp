// SPDX-License-Identifier: MIT
#include "parts.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "carriers.hpp"
#include "machine.hpp"
#include "mounts.hpp"
#include "sys_tree.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

/// Parts of the machine's sysfs that say nothing about GPUs and that programs want.
constexpr std::array machine_directories = {
    "fs", "kernel", "firmware", "power", "hypervisor", "devices/system", "devices/virtual",
};

/// Shows `path` of the machine's sysfs, around what the recording has of it.
Result<void> merge(Tree& tree, int machine, const std::string& path)
{
    struct stat status = {};
    if (is_gpu_name(base::name_of(path))
        || ::fstatat(machine, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return {};
    if (tree.has_directory(path) && S_ISDIR(status.st_mode)) {
        GPUCTR_TRY(const auto names, base::list_directory(machine, path));
        for (const std::string& name : names)
            GPUCTR_CHECK(merge(tree, machine, base::format("{}/{}", path, name)));
        return {};
    }
    if (tree.has(path) || S_ISLNK(status.st_mode))
        return {};
    GPUCTR_CHECK(S_ISDIR(status.st_mode) ? tree.directory(path) : tree.file(path, {}));
    return bind(machine, path, "/sys/" + path, BindKind::recursive);
}

/// Shows the machine's other kernel modules by links to one mount.
Result<void> merge_modules(Tree& tree, int machine)
{
    const std::string place = ".machine/module";
    if (::faccessat(machine, "module", F_OK, 0) != 0)
        return {};
    GPUCTR_TRY(const auto names, base::list_directory(machine, "module"));
    GPUCTR_CHECK(tree.directory(place));
    GPUCTR_CHECK(bind(machine, "module", "/sys/" + place));
    for (const std::string& name : names)
        if (!is_gpu_name(name) && !tree.has("module/" + name))
            GPUCTR_CHECK(tree.link("module/" + name, base::format("../{}/{}", place, name)));
    return {};
}

Result<void> stand_up_devices(Context& context, Tree& tree, int machine)
{
    if (context.options.sysfs != SysfsMethod::plain) {
        GPUCTR_TRY(Tree dress, make_tree(context, "carriers"));
        auto dressed = dress_carriers(context.host, machine, dress, context.path + "/carriers");
        if (dressed)
            return {};
        if (context.options.sysfs == SysfsMethod::carriers)
            return std::move(dressed).error().context("dress sysfs directories");
        context.leave_out("sysfs that libudev believes without SYSTEMD_DEVICE_VERIFY_SYSFS=0",
                          dressed.error());
    }
    context.result.needs_environment = true;
    return lay_device_directories(context.host, tree);
}

} // namespace

Result<void> stand_up_sys(Context& context)
{
    const std::string target = "/sys";
    const base::UniqueFd machine(::open(target.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!machine)
        return Error::from_errno(errno, "open /sys");
    GPUCTR_TRY(Tree tree, make_tree(context, "sys"));
    GPUCTR_CHECK(lay_sys_tree(context.host, tree));
    if (auto mounted = bind(AT_FDCWD, context.path + "/sys", target); !mounted) {
        context.leave_out("a /sys of its own", mounted.error());
        return {};
    }
    GPUCTR_CHECK(stand_up_devices(context, tree, machine.get()));
    GPUCTR_CHECK(tree.directory("devices/virtual")); // where the machine's GPUs are passed over
    for (const std::string directory : machine_directories)
        if (auto merged = merge(tree, machine.get(), directory); !merged)
            context.leave_out("the machine's /sys/" + directory, merged.error());
    if (auto merged = merge_modules(tree, machine.get()); !merged)
        context.leave_out("the machine's /sys/module", merged.error());

    const base::UniqueFd mounted(::open(target.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return make_read_only(mounted.get());
}

} // namespace gpucontainer::simhost

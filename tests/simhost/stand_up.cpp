// SPDX-License-Identifier: MIT
#include "stand_up.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "file_trees.hpp"
#include "mounts.hpp"
#include "parts.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

/// Sets the umask that every made directory relies on, for a while.
class ScopedUmask {
public:
    explicit ScopedUmask(mode_t mask) : previous_(::umask(mask)) {}
    ScopedUmask(const ScopedUmask&) = delete;
    ScopedUmask& operator=(const ScopedUmask&) = delete;
    ~ScopedUmask() { ::umask(previous_); }

private:
    mode_t previous_;
};

/// A directory to mount on that no part reads meanwhile.
Result<std::string> work_directory(const Recording& host, const StandUpOptions& options)
{
    if (options.in_world)
        return std::string("/mnt");
    for (const std::string directory : {"/mnt", "/media", "/srv", "/boot", "/home"})
        if (::access(directory.c_str(), F_OK) == 0 && !base::is_below(host.directory, directory)
            && !base::is_below(options.nodes_directory, directory))
            return directory;
    return Error(Errc::requirement, "no directory to mount the temporary tree on");
}

mode_t type_of(const std::string& path)
{
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

Result<void> lay_one_over(const Context& context, const std::string& upper,
                          const std::string& target)
{
    if (context.options.in_world && type_of(target) == 0 && type_of(upper) == S_IFDIR) {
        constexpr mode_t mode = 0755;
        if (::mkdir(target.c_str(), mode) != 0)
            return Error::from_errno(errno, base::format("create {}", target));
        return bind(AT_FDCWD, upper, target); // nothing of the machine lies below
    }
    switch (type_of(upper)) {
    case S_IFDIR:
        return mount_overlay(upper, target);
    case S_IFCHR:
        return Error(Errc::apply, "hiding it takes an overlay");
    default:
        return bind(AT_FDCWD, upper, target);
    }
}

/// Lays `upper` over `target` by an overlay. Where the kernel refuses one, as it
/// does to ordinary users over directories with mounts of others in them, the
/// directories and files below have their own turn.
void lay_over(Context& context, const std::string& upper, const std::string& target)
{
    const auto laid = lay_one_over(context, upper, target);
    if (laid)
        return;
    const auto names = base::list_directory(AT_FDCWD, upper);
    if (!names || type_of(target) != S_IFDIR) {
        context.leave_out(target, laid.error());
        return;
    }
    for (const std::string& name : *names)
        lay_over(context, base::format("{}/{}", upper, name), base::format("{}/{}", target, name));
}

} // namespace

void Context::leave_out(std::string_view what, const Error& reason)
{
    result.left_out.push_back(base::format("{} ({})", what, reason.message()));
}

Result<Tree> make_tree(const Context& context, const std::string& name)
{
    const std::string path = context.path + "/" + name;
    constexpr mode_t mode = 0755;
    if (::mkdir(path.c_str(), mode) != 0)
        return Error::from_errno(errno, base::format("create {}", path));
    base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const uid_t owner = context.options.first_id;
    if (!fd || (owner != 0 && ::fchownat(fd.get(), "", owner, owner, AT_EMPTY_PATH) != 0))
        return Error::from_errno(errno, base::format("open {}", path));
    return Tree(std::move(fd), owner);
}

Result<void> stand_up_files(Context& context)
{
    GPUCTR_TRY(Tree tree, make_tree(context, "root"));
    GPUCTR_CHECK(lay_files(context.host, tree));
    GPUCTR_TRY(const auto tops, top_directories(tree));
    for (const std::string& top : tops)
        lay_over(context, context.path + "/root/" + top, "/" + top);
    return {};
}

Result<StoodUp> stand_up(const Recording& host, const StandUpOptions& options)
{
    GPUCTR_CHECK(enter_private_namespace(options.map_root));
    return stand_up_here(host, options);
}

Result<StoodUp> stand_up_here(const Recording& host, const StandUpOptions& options)
{
    const ScopedUmask umask(022);
    GPUCTR_TRY(auto path, work_directory(host, options));
    Context context{host, options, std::move(path), {}};
    GPUCTR_CHECK(mount_tmpfs(context.path));

    GPUCTR_CHECK(stand_up_files(context));
    GPUCTR_CHECK(stand_up_dev(context));
    GPUCTR_CHECK(stand_up_sys(context));
    GPUCTR_CHECK(stand_up_proc(context));
    GPUCTR_CHECK(detach_mount(context.path));
    return std::move(context.result);
}

} // namespace gpucontainer::simhost

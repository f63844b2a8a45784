// SPDX-License-Identifier: MIT
#include "parts.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mounts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

/// What programs expect of any machine; the rest of its /dev is hidden.
constexpr std::array machine_names = {
    "null", "zero",   "full", "random", "urandom", "tty", "console", "ptmx",  "pts",    "shm",
    "log",  "mqueue", "fuse", "net",    "kmsg",    "fd",  "core",    "stdin", "stdout", "stderr",
};

/// Shows one name of the machine's /dev: a link as a link, all else by a bind.
Result<void> keep_name(Tree& tree, int machine, const std::string& name, const std::string& target)
{
    struct stat status = {};
    if (::fstatat(machine, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return {};
    if (S_ISLNK(status.st_mode)) {
        GPUCTR_TRY(const auto text, base::read_link(machine, name), "/dev/{}", name);
        return tree.link(name, text);
    }
    if (S_ISDIR(status.st_mode))
        GPUCTR_CHECK(tree.directory(name));
    else
        GPUCTR_CHECK(tree.file(name, {}));
    return bind(machine, name, target + "/" + name, BindKind::recursive);
}

/// The machine's id of one that is recorded.
uid_t id_of(uid_t recorded, uid_t first)
{
    constexpr uid_t overflow = 65'534;
    return first == 0 ? recorded : first + std::min(recorded, overflow);
}

Result<void> make_node(Tree& tree, const DeviceNode& node, const std::string& name, uid_t first_id)
{
    const mode_t type = node.kind == NodeKind::character ? S_IFCHR : S_IFBLK;
    GPUCTR_CHECK(tree.node(name, type | node.mode, ::makedev(node.major, node.minor)));
    if (::fchownat(tree.fd(), name.c_str(), id_of(node.uid, first_id), id_of(node.gid, first_id),
                   AT_SYMLINK_NOFOLLOW)
        != 0)
        return Error::from_errno(errno, base::format("chown {}", node.path));
    if (::fchmodat(tree.fd(), name.c_str(), node.mode, 0) != 0)
        return Error::from_errno(errno, base::format("chmod {}", node.path));
    return {};
}

/// Lays the recorded nodes.
class NodeLayer {
public:
    NodeLayer(Context& context, Tree& tree, std::string target)
        : context_(context), tree_(tree), target_(std::move(target))
    {
    }

    Result<void> lay(const DeviceNode& node)
    {
        const std::string name = node.path.substr(sizeof("/dev/") - 1);
        if (tree_.has(name))
            return {}; // the machine's own null and its like
        if (node.kind == NodeKind::link)
            return tree_.link(name, node.target);
        const std::string& given = context_.options.nodes_directory;
        if (!given.empty() && ::access((given + "/" + name).c_str(), F_OK) == 0) {
            GPUCTR_CHECK(tree_.file(name, {}));
            return bind(AT_FDCWD, given + "/" + name, target_ + "/" + name);
        }
        if (refused_)
            return {};
        auto made = make_node(tree_, node, name, context_.options.first_id);
        refused_ = !made;
        return made;
    }

private:
    Context& context_;
    Tree& tree_;
    std::string target_;
    bool refused_ = false; ///< What the kernel refuses once it refuses again.
};

void lay_nodes(Context& context, Tree& tree, const std::string& target)
{
    NodeLayer layer(context, tree, target);
    for (const DeviceNode& node : context.host.nodes)
        if (auto laid = layer.lay(node); !laid)
            context.leave_out("device nodes", laid.error());
}

} // namespace

Result<void> stand_up_dev(Context& context)
{
    const std::string target = "/dev";
    const base::UniqueFd machine(::open(target.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!machine)
        return Error::from_errno(errno, "open /dev");
    GPUCTR_TRY(Tree tree, make_tree(context, "dev"));
    if (auto mounted = bind(AT_FDCWD, context.path + "/dev", target); !mounted) {
        context.leave_out("a /dev of its own", mounted.error());
        return {};
    }
    for (const std::string name : machine_names)
        GPUCTR_CHECK(keep_name(tree, machine.get(), name, target));
    if (context.options.devices)
        lay_nodes(context, tree, target);
    return {};
}

} // namespace gpucontainer::simhost

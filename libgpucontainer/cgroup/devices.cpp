// SPDX-License-Identifier: MIT
#include "cgroup/devices.hpp"

#include "base/file.hpp"
#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "cgroup/envoy.hpp"
#include "cgroup/levels.hpp"
#include "cgroup/membership.hpp"
#include "privilege/process_number.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

/// There is no such file if the kernel has no control groups.
Result<Membership> membership_of(int proc, const std::string& process)
{
    const std::string path = process + "/cgroup";
    const base::UniqueFd file = base::open_in_proc(proc, path.c_str(), O_RDONLY);
    if (!file && errno == ENOENT)
        return Membership();
    if (!file)
        return privilege::cannot_look_at(errno, path);
    const auto text = base::read_all(file.get(), 1U << 20U);
    if (!text)
        return privilege::cannot_look_at(text.error().os_error(), path);
    return parse_membership(*text);
}

/// Whether the thread itself may use the node. The kernel also asks the thread's device cgroups.
int access_error(int fd, int mode) noexcept
{
    return ::faccessat(fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0 ? 0 : errno;
}

/// Whether a seccomp filter makes faccessat2 fail, possibly with EPERM like a device cgroup.
bool can_ask() noexcept
{
    const base::UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return root && access_error(root.get(), F_OK) == 0;
}

} // namespace

/// The result so far. A node that is forbidden counts more than one that is unknown, and a rule
/// that cannot be changed more than one that can.
class Groups::Verdicts {
public:
    explicit Verdicts(std::span<const Node> nodes) : nodes_(nodes)
    {
        found_.verdicts.assign(nodes.size(), Verdict::allowed);
    }

    /// Finds the nodes that the thread itself may use: for these, only another group can stop a
    /// process.
    void ask_here(bool same_groups, const std::string& group)
    {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const int error = access_error(nodes_[i].fd, R_OK | W_OK);
            if (error == 0)
                usable_.push_back(i);
            else if (!can_ask())
                doubt(i, "the system call faccessat2 is forbidden here");
            else if (error == EPERM && same_groups)
                forbid(i, Verdict::denied, group);
            else
                doubt(i, "this process may not use the device itself");
        }
    }

    const std::vector<std::size_t>& usable() const noexcept { return usable_; }

    void forbid(std::size_t index, Verdict verdict, const std::string& group)
    {
        Verdict& now = found_.verdicts[index];
        if (now == Verdict::denied)
            return;
        if (verdict == Verdict::denied || found_.group.empty())
            found_.group = group;
        now = verdict;
    }

    /// `replies` are for the usable nodes, in their order.
    void hear(const std::vector<int>& replies, const std::string& group, const Group* unified)
    {
        for (std::size_t i = 0; i < replies.size(); ++i)
            if (replies[i] == EPERM)
                forbid(usable_[i], Verdict::denied,
                       unified == nullptr ? group
                                          : forbidding_group(*unified, nodes_[usable_[i]].number));
            else if (replies[i] != 0)
                doubt(usable_[i],
                      Error::from_errno(replies[i], "ask in cgroup " + group).message());
    }

    void doubt_usable(const std::string& why)
    {
        for (const std::size_t index : usable_)
            doubt(index, why);
    }

    Answer take() && { return std::move(found_); }

private:
    void doubt(std::size_t index, const std::string& why)
    {
        Verdict& now = found_.verdicts[index];
        if (now != Verdict::allowed)
            return;
        if (found_.unknown.empty())
            found_.unknown = why;
        now = Verdict::unknown;
    }

    std::span<const Node> nodes_;
    std::vector<std::size_t> usable_;
    Answer found_;
};

Groups::Place Groups::place(Version version, const std::optional<std::string>& own,
                            const std::optional<std::string>& its, std::string_view process)
{
    Place place;
    place.path = its.value_or("");
    place.elsewhere = its && own != its;
    if (!place.elsewhere)
        return place;
    auto group = Group::of_process(version, *its, process);
    if (group)
        place.group.emplace(*std::move(group));
    else
        place.problem = group.error().message();
    return place;
}

Result<Groups> Groups::of_process(int pidfd)
{
    GPUCTR_TRY(const base::UniqueFd proc, base::open_proc());
    GPUCTR_TRY(const std::string process, privilege::number_of(proc.get(), pidfd));
    GPUCTR_TRY(const Membership own, membership_of(proc.get(), "thread-self"));
    GPUCTR_TRY(const Membership its, membership_of(proc.get(), process));
    Groups groups;
    groups.unified_ = place(Version::unified, own.unified, its.unified, process);
    groups.devices_ = place(Version::devices, own.devices, its.devices, process);
    groups.may_join_devices_ = its.devices_alone;
    if (privilege::has_ended(pidfd))
        return privilege::process_ended();
    return groups;
}

/// What the list says. If it may have exceptions: cgroup.procs of the group, by which a process
/// joins it to ask.
void Groups::read_list(std::span<const Node> nodes, Verdicts& verdicts, base::UniqueFd& procs) const
{
    if (!devices_.group) {
        verdicts.doubt_usable(devices_.problem);
        return;
    }
    const auto list = devices_.group->device_list();
    if (!list) {
        verdicts.doubt_usable(list.error().message());
    } else if (!list->all_by_default) {
        for (const std::size_t index : verdicts.usable())
            if (!is_allowed(*list, nodes[index].number))
                verdicts.forbid(index, Verdict::unlisted, devices_.path);
    } else if (!may_join_devices_) {
        verdicts.doubt_usable("its device cgroup allows all devices but for some that cannot be "
                              "told: it is one of other controllers too");
    } else {
        procs.reset(::openat(devices_.group->fd(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
        if (!procs)
            verdicts.doubt_usable(
                Error::from_errno(errno, "join its device cgroup " + devices_.path).message());
    }
}

Answer Groups::ask(std::span<const Node> nodes) const
{
    const bool same = !unified_.elsewhere && !devices_.elsewhere;
    Verdicts verdicts(nodes);
    verdicts.ask_here(same, devices_.path.empty() ? unified_.path : devices_.path);
    if (same || verdicts.usable().empty())
        return std::move(verdicts).take();

    base::UniqueFd procs;
    if (devices_.elsewhere)
        read_list(nodes, verdicts, procs);
    Errand errand;
    errand.moves_to = procs.get();
    if (unified_.elsewhere && !unified_.group)
        verdicts.doubt_usable(unified_.problem);
    else if (unified_.elsewhere && unified_.group->is_frozen())
        verdicts.doubt_usable("its cgroup " + unified_.path + " is frozen");
    else if (unified_.elsewhere)
        errand.unified = unified_.group->fd();
    if (errand.unified >= 0 || errand.moves_to >= 0)
        send(errand, nodes, verdicts);
    return std::move(verdicts).take();
}

void Groups::send(Errand& errand, std::span<const Node> nodes, Verdicts& verdicts) const
{
    std::vector<int> fds;
    for (const std::size_t index : verdicts.usable())
        fds.push_back(nodes[index].fd);
    errand.nodes = fds;
    const auto replies = send_envoy(errand);
    if (!replies) {
        verdicts.doubt_usable(replies.error().message());
        return;
    }
    if (errand.unified >= 0)
        verdicts.hear(replies->born, unified_.path, &*unified_.group);
    if (replies->move_error != 0)
        verdicts.doubt_usable(
            Error::from_errno(replies->move_error, "join its device cgroup " + devices_.path)
                .message());
    verdicts.hear(replies->moved, devices_.path, nullptr);
}

} // namespace gpucontainer::cgroup

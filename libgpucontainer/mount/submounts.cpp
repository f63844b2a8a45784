// SPDX-License-Identifier: MIT
#include "mount/submounts.hpp"

#include "base/in_root.hpp"
#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/facts.hpp"
#include "mount/fd_path.hpp"
#include "mount/table.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

UniqueFd open_beneath(int directory, const char* path) noexcept
{
    return UniqueFd(base::open_beneath(directory, path, O_PATH | O_NOFOLLOW));
}

/// Clones each mount of a directory as it is found.
class Carrier final : public MountVisitor {
public:
    Carrier(const Bench& bench, int covered, int over) noexcept
        : bench_(bench), covered_(covered), over_(over)
    {
        const ssize_t length = ::readlink(FdPath(covered), directory_.data(), directory_.size());
        if (length < 0)
            return;
        length_ = static_cast<std::size_t>(length);
        if (length_ == directory_.size())
            errno = ENAMETOOLONG;
        // Every path but "/" gets a slash at its end.
        else if (directory_[length_ - 1] != '/')
            directory_[length_++] = '/';
    }

    bool is_ready() const noexcept { return length_ > 0 && length_ < directory_.size(); }

    bool visit(const char* path) noexcept override
    {
        if (std::strncmp(path, directory_.data(), length_) != 0)
            return true;
        const char* const name = path + length_;
        const UniqueFd source = open_beneath(covered_, name);
        // It was hidden by another mount before, too.
        if (!source && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
            return true;
        if (!source)
            return false;
        const Found found = find_mount_root(source.get());
        if (found != Found::yes)
            return found == Found::no;
        const UniqueFd clone(clone_tree(bench_, source.get(), "", true));
        if (!clone)
            return false;
        const UniqueFd target = open_beneath(over_, name);
        return target && set_attributes(bench_, clone.get(), 0, MS_SLAVE, true) == 0
               && attach(bench_, clone.get(), target.get()) == 0;
    }

private:
    Bench bench_;
    int covered_;
    int over_;
    std::array<char, PATH_MAX> directory_ = {};
    std::size_t length_ = 0;
};

} // namespace

int carry_submounts(const Bench& bench, int covered_fd, int over_fd, int table) noexcept
{
    // The kernel only tells paths as seen from the thread's root.
    if (table != own_table)
        return carry_submounts_by_table(bench, covered_fd, over_fd, table);
    Carrier carrier(bench, covered_fd, over_fd);
    if (!carrier.is_ready())
        return -1;
    const Listing listing = list_children(covered_fd, carrier);
    if (listing == Listing::unavailable)
        return carry_submounts_by_table(bench, covered_fd, over_fd);
    return listing == Listing::complete ? 0 : -1;
}

int carry_submounts_by_table(const Bench& bench, int covered_fd, int over_fd, int table) noexcept
{
    Carrier carrier(bench, covered_fd, over_fd);
    const bool carried =
        carrier.is_ready() && read_children(covered_fd, carrier, table) == Listing::complete;
    return carried ? 0 : -1;
}

} // namespace gpucontainer::mount

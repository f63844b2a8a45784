// SPDX-License-Identifier: MIT
#include "runtime/own_layer.hpp"

#include "output/format.hpp"

#include <fcntl.h>
#include <string>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

bool may_be_written(int root)
{
    struct statvfs status = {};
    return ::fstatvfs(root, &status) == 0 && (status.f_flag & ST_RDONLY) == 0
           && ::faccessat(root, ".", W_OK, AT_EACCESS) == 0;
}

/// Does `first`, and `otherwise` if that fails. If both fail, the first error says why.
template <typename First, typename Otherwise>
auto or_else(const LayerSetUp::Note& note, First first, Otherwise otherwise)
{
    try {
        return first();
    } catch (const Error& error) {
        note(formatted("names cannot be written: {}", error.what()));
        try {
            return otherwise();
        } catch (const Error&) {
            throw error;
        }
    }
}

} // namespace

LayerSetUp::LayerSetUp(int rootfs_fd, std::uint32_t write, MakePlan make, Note note)
    : rootfs_fd_(rootfs_fd), make_(std::move(make)), note_(std::move(note))
{
    if (write != GPUCTR_WRITE_AUTO) {
        plan_.emplace(make_(write));
        return;
    }
    const auto by_mounts = [&] { plan_.emplace(make_(GPUCTR_WRITE_NEVER)); };
    if (!may_be_written(rootfs_fd)) {
        by_mounts();
        return;
    }
    const auto by_writing = [&] {
        plan_.emplace(make_(GPUCTR_WRITE_LAYER));
        in_layer_ = true;
    };
    or_else(note_, by_writing, by_mounts);
}

void LayerSetUp::apply(const gpucontainer::ApplyOptions& how)
{
    gpucontainer::ApplyOptions without_journal = how;
    without_journal.without_journal = true;
    const auto set_up = [&] { (void)plan_->apply(rootfs_fd_, without_journal); };
    if (!in_layer_)
        return set_up();
    // The layer may refuse a name, as a full one does.
    or_else(note_, set_up, [&] {
        plan_.emplace(make_(GPUCTR_WRITE_NEVER));
        set_up();
    });
}

} // namespace gpuctr_cli

// SPDX-License-Identifier: MIT
#include "support/mount_table.hpp"

#include <fmt/format.h>
#include <libmount.h>
#include <memory>

namespace gpucontainer::test {
namespace {

const char* or_empty(const char* text) { return text != nullptr ? text : ""; }

std::string line_of(libmnt_fs* mount)
{
    unsigned long propagation = 0;
    (void)mnt_fs_get_propagation(mount, &propagation);
    return fmt::format("{} {} {} {} {} {} {} {}", mnt_fs_get_id(mount), mnt_fs_get_parent_id(mount),
                       or_empty(mnt_fs_get_source(mount)), or_empty(mnt_fs_get_root(mount)),
                       or_empty(mnt_fs_get_target(mount)), or_empty(mnt_fs_get_fstype(mount)),
                       or_empty(mnt_fs_get_vfs_options(mount)), propagation);
}

} // namespace

std::vector<std::string> mount_table()
{
    const std::unique_ptr<libmnt_table, decltype(&mnt_unref_table)> table(
        mnt_new_table_from_file("/proc/self/mountinfo"), &mnt_unref_table);
    const std::unique_ptr<libmnt_iter, decltype(&mnt_free_iter)> position(
        mnt_new_iter(MNT_ITER_FORWARD), &mnt_free_iter);
    std::vector<std::string> lines;
    libmnt_fs* mount = nullptr;
    while (table && mnt_table_next_fs(table.get(), position.get(), &mount) == 0)
        lines.push_back(line_of(mount));
    return lines;
}

} // namespace gpucontainer::test

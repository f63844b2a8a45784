// SPDX-License-Identifier: MIT
#include "privilege/label.hpp"

#include <algorithm>
#include <unistd.h>

namespace gpucontainer::privilege {
namespace {

constexpr std::size_t longest_label = 4095;
constexpr const char* label_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:-";

/// USER:ROLE:TYPE, and maybe :RANGE.
bool has_form(const std::string& label)
{
    return label.size() <= longest_label && label.front() != ':' && label.back() != ':'
           && label.find("::") == std::string::npos
           && label.find_first_not_of(label_characters) == std::string::npos
           && std::count(label.begin(), label.end(), ':') >= 2;
}

} // namespace

Result<void> check_label(const std::string& label)
{
    if (label.empty() || has_form(label))
        return {};
    return Error(Errc::usage, "mount label '" + label + "': not an SELinux label")
        .with_object(label)
        .with_argument("mount_label")
        .with_hint("a label looks like system_u:object_r:container_file_t:s0:c1,c2");
}

Result<void> require_label(const std::string& label)
{
    if (label.empty() || ::access("/sys/fs/selinux/enforce", F_OK) == 0)
        return {};
    return Error(Errc::requirement, "mount label " + label + ": SELinux is not enabled here")
        .with_object(label)
        .with_argument("mount_label")
        .with_hint("leave the label out, or see that /sys/fs/selinux is mounted");
}

} // namespace gpucontainer::privilege

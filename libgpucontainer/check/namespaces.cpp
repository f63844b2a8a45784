// SPDX-License-Identifier: MIT
#include "check/namespaces.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"

#include <array>
#include <string_view>
#include <unistd.h>

namespace gpucontainer::check {

using model::FindingCode;

namespace {

/// A setting of a kernel, which distributions of it may have and others lack.
struct Setting {
    const char* path;
    std::string_view forbids; ///< Its value then.
    const char* text;
    const char* hint;
    bool by_profile; ///< Programs with a profile of their own are exempt.
};

constexpr std::array settings = {
    Setting{"/proc/sys/user/max_user_namespaces", "0",
            "this user may not make user namespaces: the kernel allows none at all",
            "as root: `sysctl user.max_user_namespaces=15000`; or have root set up the container",
            false},
    Setting{"/proc/sys/kernel/unprivileged_userns_clone", "0",
            "this user may not make user namespaces: the kernel keeps them from ordinary users",
            "as root: `sysctl kernel.unprivileged_userns_clone=1`; or have root set up the "
            "container",
            false},
    Setting{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
            "this user may not make user namespaces: AppArmor keeps them from programs without a "
            "profile that allows it",
            "as root, load a profile with `userns,` for the program that makes the container, as "
            "this project's packages have one",
            true},
};

} // namespace

NamespaceUser namespace_user()
{
    NamespaceUser user;
    user.is_root = ::geteuid() == 0;
    // "gpuctr-setup (unconfined)": the first word is the profile.
    for (const char* const path : {"/proc/self/attr/apparmor/current", "/proc/self/attr/current"})
        if (const auto text = base::read_file(path); text && user.profile.empty())
            user.profile = base::trim(std::string_view(*text).substr(0, text->find(' ')));
    return user;
}

Result<void> add_namespace_causes(const std::string& system_root, const NamespaceUser& user,
                                  model::Causes& causes)
{
    constexpr std::string_view no_profile = "unconfined";
    if (user.is_root)
        return {};
    for (const Setting& setting : settings) {
        GPUCTR_TRY(const auto value, host::read_value(system_root + setting.path));
        const bool has_profile = !user.profile.empty() && user.profile != no_profile;
        if (value != setting.forbids || (setting.by_profile && has_profile))
            continue;
        causes.push_back(
            {{FindingCode::namespaces_forbidden, "", setting.text, setting.path, setting.hint},
             model::Stage::setup});
    }
    return {};
}

} // namespace gpucontainer::check

// SPDX-License-Identifier: MIT
#include "plan/typical_root.hpp"

#include "rootfs/layout.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace gpucontainer::plan {
namespace {

class TypicalRoot final : public rootfs::View {
public:
    rootfs::Entry look(const std::string& path) const override { return resolve(path); }

    rootfs::Entry resolve(const std::string& path) const override
    {
        constexpr std::array directories = {"/",          "/usr", "/usr/bin", "/usr/lib",
                                            "/usr/local", "/etc", "/dev",     "/etc/ld.so.conf.d"};
        const rootfs::Machine& machine = rootfs::native_machine();
        const auto known = std::find(directories.begin(), directories.end(), path);
        rootfs::Entry entry;
        if (path == machine.loader || path == "/etc/ld.so.conf")
            entry.type = rootfs::EntryType::regular;
        else if (known != directories.end() || path == machine.library_directories.front())
            entry.type = rootfs::EntryType::directory;
        entry.inode = std::hash<std::string>()(path); // so that entries differ
        constexpr std::uint32_t usual_mode = 0755;
        entry.mode = usual_mode;
        return entry;
    }

    std::string link_target(const std::string& /*path*/) const override { return {}; }
    Result<base::UniqueFd> open(const std::string& path) const override
    {
        return Error::from_errno(ENOENT, path);
    }
    Result<std::string> read(const std::string& path, std::size_t /*limit*/) const override
    {
        return Error::from_errno(ENOENT, path);
    }
    bool is_empty_directory(const std::string& /*path*/) const override { return false; }
    bool is_for_names(const std::string& /*path*/) const override { return true; }
};

} // namespace

const rootfs::View& typical_root()
{
    static const TypicalRoot root;
    return root;
}

} // namespace gpucontainer::plan

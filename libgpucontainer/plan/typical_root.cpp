// SPDX-License-Identifier: MIT
#include "plan/typical_root.hpp"

#include "rootfs/layout.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string_view>

namespace gpucontainer::plan {
namespace {

class TypicalRoot final : public rootfs::View {
public:
    explicit TypicalRoot(const elf::Machine& machine) : machine_(machine) {}

    rootfs::Entry look(const std::string& path) const override { return resolve(path); }

    rootfs::Entry resolve(const std::string& path) const override
    {
        constexpr std::array directories = {"/",          "/usr", "/usr/bin", "/usr/lib",
                                            "/usr/local", "/etc", "/dev",     "/etc/ld.so.conf.d"};
        const auto is_of = [&](const elf::Machine* machine, bool loader) {
            return machine != nullptr
                   && path
                          == (loader ? std::string(machine->loader)
                                     : rootfs::library_directories(*machine).front());
        };
        const elf::Machine* const compat32 = elf::compat32_of(machine_);
        const auto known = std::find(directories.begin(), directories.end(), path);
        rootfs::Entry entry;
        if (is_of(&machine_, true) || is_of(compat32, true) || path == "/etc/ld.so.conf")
            entry.type = rootfs::EntryType::regular;
        else if (known != directories.end() || is_of(&machine_, false) || is_of(compat32, false))
            entry.type = rootfs::EntryType::directory;
        entry.inode = std::hash<std::string>()(path); // so that entries differ
        constexpr std::uint32_t usual_mode = 0755;
        entry.mode = usual_mode;
        return entry;
    }

    std::string link_target(const std::string& /*path*/) const override { return {}; }
    Result<base::OpenFile> open(const std::string& path) const override
    {
        return Error::from_errno(ENOENT, path);
    }
    Result<std::string> read(const std::string& path, std::size_t /*limit*/) const override
    {
        return Error::from_errno(ENOENT, path);
    }
    Result<std::vector<std::string>> list(const std::string& path,
                                          std::size_t /*limit*/) const override
    {
        return Error::from_errno(ENOENT, path);
    }
    bool is_empty_directory(const std::string& /*path*/) const override { return false; }
    bool is_for_names(const std::string& /*path*/) const override { return true; }

private:
    const elf::Machine& machine_;
    const std::string libraries_ = rootfs::library_directories(machine_).front();
};

} // namespace

const rootfs::View& typical_root(const elf::Machine& machine)
{
    static const auto roots = [] {
        std::map<std::string_view, TypicalRoot> all;
        for (const elf::Machine& one : elf::machines)
            all.emplace(one.name, one);
        return all;
    }();
    return roots.at(machine.name);
}

} // namespace gpucontainer::plan

// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"
#include "rootfs/layout.hpp"
#include "rootfs/view.hpp"

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::test {

/// A root file system that is a table of names. Links are followed only as the
/// last component, and once.
class FakeView final : public rootfs::View {
public:
    /// One of this machine's: what every distribution has.
    static FakeView distribution() { return distribution(elf::own_machine()); }

    static FakeView distribution(const elf::Machine& machine)
    {
        FakeView view;
        view.file(std::string(machine.loader));
        view.file("/etc/ld.so.conf");
        view.file(rootfs::library_directories(machine).front() + "/libc.so.6");
        for (const char* path : {"/usr/bin", "/usr/lib", "/usr/local", "/etc/ld.so.conf.d", "/dev"})
            view.directory(path);
        return view;
    }

    void directory(const std::string& path) { put(path, rootfs::EntryType::directory); }

    void file(const std::string& path, std::string content = {})
    {
        put(path, rootfs::EntryType::regular);
        contents_[path] = std::move(content);
    }

    void link(const std::string& path, const std::string& target)
    {
        put(path, rootfs::EntryType::link);
        targets_[path] = target;
    }

    void other(const std::string& path) { put(path, rootfs::EntryType::other); }
    void node(const std::string& path) { put(path, rootfs::EntryType::character); }

    void remove(const std::string& path) { entries_.erase(path); }

    /// One more name of the same file.
    void hard_link(const std::string& path, const std::string& existing)
    {
        put(path, entries_.at(existing).type);
        entries_[path] = entries_.at(existing);
    }

    rootfs::Entry& at(const std::string& path) { return entries_.at(path); }

    rootfs::Entry look(const std::string& path) const override
    {
        const auto found = entries_.find(path);
        return found != entries_.end() ? found->second : rootfs::Entry();
    }

    rootfs::Entry resolve(const std::string& path) const override
    {
        const std::string target = link_target(path);
        return look(target.empty() ? path : target);
    }

    std::string link_target(const std::string& path) const override
    {
        const auto found = targets_.find(path);
        return found != targets_.end() ? found->second : "";
    }

    Result<base::OpenFile> open(const std::string& path) const override
    {
        const std::string target = link_target(path);
        const auto found = contents_.find(target.empty() ? path : target);
        if (found == contents_.end())
            return Error::from_errno(ENOENT, path);
        base::UniqueFd fd(::memfd_create("fake", MFD_CLOEXEC));
        const std::string& content = found->second;
        if (::write(fd.get(), content.data(), content.size())
            != static_cast<ssize_t>(content.size()))
            return Error::from_errno(errno, path);
        return base::OpenFile(std::move(fd));
    }

    Result<std::string> read(const std::string& path, std::size_t limit) const override
    {
        const auto found = contents_.find(path);
        if (found == contents_.end())
            return Error::from_errno(ENOENT, path);
        if (found->second.size() > limit)
            return Error::from_errno(EFBIG, path);
        return found->second;
    }

    Result<std::vector<std::string>> list(const std::string& path, std::size_t limit) const override
    {
        std::vector<std::string> names;
        for (const auto& [name, entry] : entries_)
            if (name != "/" && base::directory_of(name) == path)
                names.emplace_back(base::name_of(name));
        if (names.size() > limit)
            return Error::from_errno(EFBIG, path);
        return names;
    }

    bool is_empty_directory(const std::string& path) const override
    {
        const auto next = entries_.upper_bound(path + "/");
        return look(path).type == rootfs::EntryType::directory
               && (next == entries_.end() || !next->first.starts_with(path + "/"));
    }

    bool is_for_names(const std::string& path) const override
    {
        return !not_for_names_.contains(path);
    }
    void keep_names_out_of(const std::string& path) { not_for_names_.insert(path); }

private:
    void put(const std::string& path, rootfs::EntryType type)
    {
        const std::string above(base::directory_of(path));
        if (path != "/" && !look(above))
            directory(above);
        rootfs::Entry entry;
        entry.type = type;
        entry.device = 1;
        entry.inode = ++last_inode_;
        entry.mode = type == rootfs::EntryType::directory ? 0755 : 0644;
        entries_[path] = entry;
    }

    std::map<std::string, rootfs::Entry> entries_;
    std::map<std::string, std::string> targets_;
    std::map<std::string, std::string> contents_;
    std::set<std::string> not_for_names_;
    std::uint64_t last_inode_ = 0;
};

} // namespace gpucontainer::test

// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "privilege/file_owner.hpp"
#include "rootfs/view.hpp"

#include <optional>
#include <string>

namespace gpucontainer::rootfs {

/// The file at a descriptor, which may be one of O_PATH. It does not tell `own_tmpfs`. None, if the
/// file cannot be looked at: errno says why.
Entry entry_of(int fd);

/// A container's root, which may be hostile: every path is resolved in it. For one thread at a
/// time.
class Root final : public RootView {
public:
    /// `fd` is borrowed, and may be any descriptor of a directory. `owner` will own new names;
    /// none: the caller.
    static Result<Root> open(int fd, const std::optional<privilege::Owner>& owner = {});

    Entry look(const std::string& path) const override;
    std::vector<std::string> present(const std::string& directory,
                                     const std::vector<std::string>& names) const override;
    Entry resolve(const std::string& path) const override;
    std::string link_target(const std::string& path) const override;
    Result<base::OpenFile> open(const std::string& path) const override;
    Result<std::string> read(const std::string& path, std::size_t limit) const override;
    Result<std::vector<std::string>> list(const std::string& path,
                                          std::size_t limit) const override;
    bool is_empty_directory(const std::string& path) const override;
    bool is_for_names(const std::string& path) const override;

    Result<void> check() const override;

    /// Whether it is the calling thread's root directory, on any mount.
    static bool is_callers(std::uint64_t device, std::uint64_t inode);

    const RootFacts& facts() const noexcept override { return facts_; }
    int fd() const noexcept { return fd_.get(); }

private:
    Root(base::UniqueFd fd, RootFacts facts, std::uint64_t mount_id);
    Entry entry(const std::string& path, std::uint64_t flags) const;
    /// Remembers errno of a failed lookup of `path`, unless it says that there is no such name.
    void note_failure(const std::string& path) const;
    /// Remembers errno where something that is there could not be looked at.
    void note_trouble(const std::string& path) const;

    struct Trouble {
        int os_error;
        std::string path;
    };

    base::UniqueFd fd_;
    RootFacts facts_;
    std::uint64_t mount_id_;
    std::optional<privilege::Owner> owner_;
    mutable std::optional<Trouble> trouble_; ///< The first.
};

} // namespace gpucontainer::rootfs

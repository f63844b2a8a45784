// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"
#include "image/part_file.hpp"
#include "rootfs/view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpucontainer::image {

/// A root file system in an image, which nobody can write. Whoever made it may be hostile: links
/// lead nowhere but to other names in it. For one thread at a time.
class ImageView final : public rootfs::RootView {
public:
    static Result<std::unique_ptr<ImageView>> open(std::shared_ptr<FileSystem> files);

    rootfs::Entry look(const std::string& path) const override;
    std::vector<std::string> present(const std::string& directory,
                                     const std::vector<std::string>& names) const override;
    rootfs::Entry resolve(const std::string& path) const override;
    std::string link_target(const std::string& path) const override;
    Result<base::OpenFile> open(const std::string& path) const override;
    Result<std::string> read(const std::string& path, std::size_t limit) const override;
    Result<std::vector<std::string>> list(const std::string& path,
                                          std::size_t limit) const override;
    bool is_empty_directory(const std::string& path) const override;
    bool is_for_names(const std::string& /*path*/) const override { return false; }
    Result<void> check() const override;
    Result<std::vector<std::string>> variables() const override { return files_->variables(); }
    const rootfs::RootFacts& facts() const noexcept override { return facts_; }

private:
    ImageView(std::shared_ptr<FileSystem> files, Reference root);

    using Names = std::vector<Name>;

    struct Found {
        Reference place = 0;
        rootfs::EntryType type = rootfs::EntryType::none;
    };

    /// A path that is being followed.
    struct Way;

    int walk(std::string_view path, bool follows_last, Found& found) const;
    int step(Way& way) const;
    int follow(const Name& link, Way& way) const;
    int find(Reference directory, std::string_view name, const Name*& found) const;
    int list_of(Reference directory, const Names*& names) const;
    int inode_of(Reference place, const Inode*& inode) const;
    rootfs::Entry entry(const std::string& path, bool follows_last) const;
    Result<Found> file_at(const std::string& path) const;
    void note(int os_error, const std::string& path) const;

    std::shared_ptr<FileSystem> files_;
    Reference root_;
    rootfs::RootFacts facts_;
    mutable PartFiles opened_;
    mutable std::unordered_map<Reference, Names> directories_;
    mutable std::size_t kept_names_ = 0; ///< In these.
    mutable std::unordered_map<Reference, Inode> inodes_;
    struct Trouble {
        int os_error;
        std::string path;
    };
    mutable std::optional<Trouble> trouble_; ///< The first.
};

} // namespace gpucontainer::image

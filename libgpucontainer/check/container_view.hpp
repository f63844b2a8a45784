// SPDX-License-Identifier: MIT
#pragma once

#include "plan/plan.hpp"
#include "rootfs/real_path.hpp"
#include "rootfs/view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpucontainer::check {

/// A container as it will be: an image, and what a plan puts into it. Nothing is changed for it.
/// Files of the host are those that were planned with: one that is another file by now, or is not
/// on this host, is there and cannot be opened. What is looked up is limited. For one thread.
class ContainerView final : public rootfs::View {
public:
    /// Both must outlive this object.
    ContainerView(const rootfs::View& image, const plan::Plan& plan);

    rootfs::Entry look(const std::string& path) const override;
    rootfs::Entry resolve(const std::string& path) const override;
    std::string link_target(const std::string& path) const override;
    Result<base::OpenFile> open(const std::string& path) const override;
    Result<std::string> read(const std::string& path, std::size_t limit) const override;
    Result<std::vector<std::string>> list(const std::string& path,
                                          std::size_t limit) const override;
    bool is_empty_directory(const std::string& path) const override;
    /// False: nothing is created in it.
    bool is_for_names(const std::string& path) const override;
    bool is_exhausted() const override { return budget_.is_exhausted(); }

    /// The host's file that a path leads to; "" if it is one of the image, or generated.
    std::string host_file(const std::string& path) const;

private:
    /// What the plan has at a path.
    struct Node {
        enum class Kind : std::uint8_t {
            directory, ///< Of ours, or one of the image in which we have names.
            hiding,    ///< A directory that hides what the image has in it.
            host_file,
            host_directory, ///< With what the host has in it.
            content,
            link,
            character,
            other, ///< Of the kernel, or shared: it is not read.
        };

        Kind kind = Kind::other;
        std::string text = {}; ///< Path on the host, or where a link leads.
        model::FileId id = {};
        const std::string* content = nullptr;
        std::uint64_t number = 0; ///< Stands for an inode's.
    };
    struct ToNode;

    void add(const plan::Item& item);
    std::string make_directories(const std::string& path);
    void put(const std::string& path, Node node);
    /// The path without links; none if it leads nowhere.
    std::optional<std::string> real(const std::string& path, rootfs::LastLink last) const;
    std::optional<std::string> real_directory(const std::string& path) const;

    /// Where a path leads.
    struct Led {
        std::optional<std::string> to; ///< The path without links; none if it leads nowhere.
        rootfs::WayGone gone = {};
        bool is_directory = true;
    };
    using KnownLeads = std::unordered_map<std::string, Led>;

    Led go_on(const Led& directory, std::string_view component) const;
    void keep(const std::string& path, const Led& led) const;
    void forget() const;

    // The paths of these have no links in them, except as the last component.
    const Node* node_at(const std::string& path) const;
    /// The directory of ours that hides the image's name, and its path; null if none does.
    const Node* above(const std::string& path, std::string& directory) const;
    rootfs::Entry entry_at(const std::string& path) const;
    std::string target_at(const std::string& path) const;
    rootfs::Entry entry_of(const Node& node, const std::string& path) const;

    const rootfs::View& image_;
    std::map<std::string, Node> nodes_;
    std::map<std::string, std::set<std::string>> names_; ///< Of ours, in each directory.
    std::vector<std::string> hiding_; ///< Directories of the kinds that hide the image's.
    mutable KnownLeads real_directories_;
    mutable std::size_t kept_ = 0; ///< Bytes of these.
    mutable rootfs::LookBudget budget_;
};

} // namespace gpucontainer::check

// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

#include <cstddef>
#include <unordered_map>

namespace gpucontainer::rootfs {

/// Caches another view: a plan asks for the same few directories for every name in them. Changes
/// meanwhile are noticed when the plan is carried out, like all later ones. What is kept is
/// limited. For one thread.
class RememberedView final : public View {
public:
    /// `view` must outlive this object.
    explicit RememberedView(const View& view) : view_(view) {}

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

private:
    using Entries = std::unordered_map<std::string, Entry>;

    void make_room(const std::string& path) const;

    const View& view_;
    mutable std::size_t kept_ = 0; ///< Bytes of paths.
    mutable Entries looked_at_;
    mutable Entries resolved_;
    mutable std::unordered_map<std::string, bool> for_names_;
};

} // namespace gpucontainer::rootfs

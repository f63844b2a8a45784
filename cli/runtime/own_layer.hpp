// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace gpuctr_cli {

/// A set-up in a container whose runtime takes its own layer away with it, so that there is no
/// journal. Names go into that layer: overlays of names over its directories would take away that
/// its programs can write there. Where the layer cannot be written, they appear by mounts alone; so
/// they do in what else is mounted, which may be somebody's that a caller must not write.
class LayerSetUp {
public:
    using MakePlan = std::function<gpucontainer::Plan(std::uint32_t write)>;
    using Note = std::function<void(const std::string& what)>;

    /// `write` is what the caller was told, GPUCTR_WRITE_*; `note` hears why names are not
    /// written. Throws gpucontainer::Error.
    LayerSetUp(int rootfs_fd, std::uint32_t write, MakePlan make, Note note);

    const gpucontainer::Plan& plan() const { return *plan_; }

    /// Throws gpucontainer::Error.
    void apply(const gpucontainer::ApplyOptions& how);

private:
    int rootfs_fd_;
    MakePlan make_;
    Note note_;
    bool in_layer_ = false;
    std::optional<gpucontainer::Plan> plan_;
};

} // namespace gpuctr_cli

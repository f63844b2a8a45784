// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"
#include "plan/image_libraries.hpp"
#include "search/host_runtime.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Whether the host's C library as a whole, and the libraries of its compiler, can take the place
/// of the image's. Nothing can where the request does not ask for it.
class RuntimeFit {
public:
    /// Call look_at_image() before the other functions. It borrows from the draft.
    explicit RuntimeFit(const Draft& draft) : draft_(draft), image_(draft) {}

    bool is_wanted() const { return draft_.request.glibc.host.has_value(); }

    /// Why the host's C library cannot; "" if it can.
    const std::string& objection() const;

    /// Where the image has its C library; "" if nowhere.
    const std::string& library() const;

    /// The real path of the image's loader; "" if it has none.
    std::string loader() const;

    /// Whether the loader there is the host's, which an earlier set-up put there.
    bool is_hosts_already() const;

    /// Whether the need, which the image's library at `path` does not meet, would be met.
    bool meets(const model::VersionNeed& need, const std::string& path) const;

    /// The same for needs on the C library.
    bool meets(const model::VersionNeed& need) const;

    /// The host's library of the compiler, if it has all versions of the image's at `path`, and
    /// more; null if not.
    const search::RuntimeFile* newer(std::string_view soname, const std::string& path) const;

    /// What is said, besides, of a need that is not met: why the host's would not do. Maybe "".
    std::string remark(const model::VersionNeed& need) const;

    const ImageLibraries& image() const { return image_; }

private:
    const search::HostCLibrary& host() const { return draft_.request.glibc.host->c_library; }
    std::string find_objection() const;
    std::string objection_to_loader() const;
    std::string objection_to_age() const;
    std::string objection_to_program() const;
    std::string objection_to_interpreter(const std::string& program,
                                         const std::string& interpreter) const;

    const Draft& draft_;
    ImageLibraries image_;
    mutable std::optional<std::string> objection_;
    mutable std::optional<std::string> library_;
};

/// The sonames of such an image's family of the C library that it has and that are bound to its
/// build, so that they go with no other.
bool is_bound_to_build(const Draft& draft, const std::string& path);

} // namespace gpucontainer::plan

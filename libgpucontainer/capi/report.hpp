// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "capi/objects.hpp"
#include "model/finding.hpp"

namespace gpucontainer::capi {

/// Collects findings during a call and reports them at its end, so that the caller's function runs
/// in the caller's own namespaces and without any lock held.
class Report {
public:
    Report(gpuctr_report report, void* data) noexcept : report_(report), data_(data) {}
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;
    ~Report()
    {
        for (std::size_t i = 0; i < findings_.size(); ++i)
            report_(data_, element_at<gpuctr_finding>(findings_, i));
    }

    /// Null if nobody wants a report; then findings need not be looked for.
    model::Findings* findings() noexcept { return report_ != nullptr ? &findings_ : nullptr; }

private:
    gpuctr_report report_;
    void* data_;
    model::Findings findings_;
};

} // namespace gpucontainer::capi

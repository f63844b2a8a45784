// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/report.hpp"
#include "capi/request.hpp"
#include "host/enumerator.hpp"
#include "loading/load.hpp"
#include "privilege/process.hpp"

#include <algorithm>

using namespace gpucontainer;

gpuctr_status gpuctr_host_load_kernel_modules(const gpuctr_load_options* options,
                                              gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        GPUCTR_TRY(const auto given, capi::read_options(options));
        if ((given.flags & ~GPUCTR_LOAD_DISPLAY) != 0 || given.reserved != 0)
            return Error(Errc::usage, "gpuctr_host_load_kernel_modules: an unknown flag is set")
                .with_argument("flags");
        GPUCTR_CHECK(privilege::refuse_raised(false));
        loading::Wanted wanted;
        wanted.vendors = capi::strings(given.vendors);
        if (std::erase(wanted.vendors, GPUCTR_VENDOR_ANY) > 0)
            wanted.vendors.clear();
        wanted.display = (given.flags & GPUCTR_LOAD_DISPLAY) != 0;
        capi::Report report(given.report, given.report_data);
        model::Findings unwanted;
        model::Findings* const findings = report.findings();
        const auto pci = host::make_enumerator();
        return loading::load(wanted, *pci, findings != nullptr ? *findings : unwanted);
    });
}

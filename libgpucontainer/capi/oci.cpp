// SPDX-License-Identifier: MIT
#include "export/oci.hpp"

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "import/cdi_config.hpp"
#include "import/edited_config.hpp"

using namespace gpucontainer;

namespace {

Result<std::string> edits_of(const gpuctr_plan& plan, const char* files_dir)
{
    const std::string directory = files_dir != nullptr ? files_dir : capi::usual_files_directory;
    if (!directory.starts_with('/'))
        return Error(Errc::usage, "OCI: the directory of files is no absolute path")
            .with_argument("files_dir");
    return exports::oci_edits(plan.planned, directory);
}

/// Devices of CDI have edits of their own, which name no small files.
Result<std::string> edited_config(const gpuctr_plan& plan, const char* config,
                                  const char* files_dir)
{
    const plan::Planned& planned = plan.planned;
    if (planned.cdi != nullptr && !planned.plan.has_root)
        return imports::config_with_edits(config, planned.cdi->edits);
    GPUCTR_TRY(const std::string edits, edits_of(plan, files_dir));
    return imports::edited_config(config, edits);
}

} // namespace

gpuctr_status gpuctr_plan_to_oci(const gpuctr_plan* plan, const char* files_dir,
                                 char** ret_document, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || ret_document == nullptr)
            return Error(Errc::usage, "gpuctr_plan_to_oci: plan or ret_document is missing");
        GPUCTR_TRY(const std::string document, edits_of(*plan, files_dir));
        *ret_document = capi::to_c_string(document);
        return {};
    });
}

gpuctr_status gpuctr_plan_edit_oci(const gpuctr_plan* plan, const char* config,
                                   const char* files_dir, char** ret_config,
                                   gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || config == nullptr || ret_config == nullptr)
            return Error(Errc::usage,
                         "gpuctr_plan_edit_oci: plan, config or ret_config is missing");
        GPUCTR_TRY(const std::string edited, edited_config(*plan, config, files_dir));
        *ret_config = capi::to_c_string(edited);
        return {};
    });
}

// SPDX-License-Identifier: MIT
#include "capi/objects.hpp"

using namespace gpucontainer;

static_assert(GPUCTR_SEVERITY_NOTE == static_cast<std::uint32_t>(model::Severity::note)
              && GPUCTR_SEVERITY_NEED == static_cast<std::uint32_t>(model::Severity::need)
              && GPUCTR_SEVERITY_WARNING == static_cast<std::uint32_t>(model::Severity::warning)
              && GPUCTR_SEVERITY_ERROR == static_cast<std::uint32_t>(model::Severity::error));

const char* gpuctr_finding_code(const gpuctr_finding* finding)
{
    return model::name(finding->code).data();
}
uint32_t gpuctr_finding_severity(const gpuctr_finding* finding)
{
    return static_cast<std::uint32_t>(finding->severity());
}
const char* gpuctr_finding_object(const gpuctr_finding* finding) { return finding->object.c_str(); }
const char* gpuctr_finding_text(const gpuctr_finding* finding) { return finding->text.c_str(); }
const char* gpuctr_finding_evidence(const gpuctr_finding* finding)
{
    return finding->evidence.c_str();
}
const char* gpuctr_finding_hint(const gpuctr_finding* finding) { return finding->hint.c_str(); }
const char* gpuctr_finding_capability(const gpuctr_finding* finding)
{
    return model::name(finding->capability).data();
}

// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/request.hpp"
#include "explain/explain.hpp"
#include "export/json.hpp"

using namespace gpucontainer;

gpuctr_status gpuctr_plan_explain(const gpuctr_plan* plan, const char* name, int rootfs_fd,
                                  gpuctr_explanation** ret_explanation, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (plan == nullptr || name == nullptr || ret_explanation == nullptr)
            return Error(Errc::usage,
                         "gpuctr_plan_explain: plan, name or ret_explanation is missing");
        GPUCTR_CHECK(capi::check_descriptor_or_none(rootfs_fd));
        GPUCTR_TRY(auto answers, explain::explain(plan->planned, name, rootfs_fd));
        *ret_explanation = new gpuctr_explanation{std::move(answers)};
        return {};
    });
}

void gpuctr_explanation_free(gpuctr_explanation* explanation) { delete explanation; }

gpuctr_status gpuctr_explanation_to_json(const gpuctr_explanation* explanation, char** ret_json,
                                         gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (explanation == nullptr || ret_json == nullptr)
            return Error(Errc::usage,
                         "gpuctr_explanation_to_json: explanation or ret_json is missing");
        *ret_json = capi::to_c_string(exports::answers_to_json(explanation->answers));
        return {};
    });
}

size_t gpuctr_explanation_answer_count(const gpuctr_explanation* explanation)
{
    return explanation->answers.size();
}
const gpuctr_answer* gpuctr_explanation_answer_at(const gpuctr_explanation* explanation,
                                                  size_t index)
{
    return capi::element_at<gpuctr_answer>(explanation->answers, index);
}
const char* gpuctr_answer_kind(const gpuctr_answer* answer)
{
    return explain::name(answer->kind).data();
}
const char* gpuctr_answer_name(const gpuctr_answer* answer) { return answer->name.c_str(); }
const char* gpuctr_answer_vendor(const gpuctr_answer* answer) { return answer->vendor.c_str(); }
int gpuctr_answer_is_given(const gpuctr_answer* answer) { return answer->given ? 1 : 0; }
const char* gpuctr_answer_path(const gpuctr_answer* answer) { return answer->path.c_str(); }
const char* gpuctr_answer_reason(const gpuctr_answer* answer) { return answer->reason.c_str(); }
const char* gpuctr_answer_capability(const gpuctr_answer* answer)
{
    return model::name(answer->capability).data();
}
size_t gpuctr_answer_item_count(const gpuctr_answer* answer) { return answer->items.size(); }
const gpuctr_item* gpuctr_answer_item_at(const gpuctr_answer* answer, size_t index)
{
    return capi::element_at<gpuctr_item>(answer->items, index);
}
size_t gpuctr_answer_finding_count(const gpuctr_answer* answer) { return answer->others.size(); }
const gpuctr_finding* gpuctr_answer_finding_at(const gpuctr_answer* answer, size_t index)
{
    return capi::element_at<gpuctr_finding>(answer->others, index);
}
size_t gpuctr_answer_remedy_count(const gpuctr_answer* answer) { return answer->remedies.size(); }
const char* gpuctr_answer_remedy_at(const gpuctr_answer* answer, size_t index)
{
    return capi::text_at(answer->remedies, index);
}

// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace gpucontainer;

namespace {

static_assert(imports::by_environment == GPUCTR_WISH_ENVIRONMENT
              && imports::by_privileged_environment == GPUCTR_WISH_PRIVILEGED
              && imports::by_mounts == GPUCTR_WISH_MOUNTS
              && imports::by_legacy_image == GPUCTR_WISH_LEGACY);

Result<void> check_accepted(const char* function, uint32_t accepted)
{
    if ((accepted & ~imports::all_wishes) != 0)
        return Error(Errc::usage, base::format("{}: an unknown wish is accepted", function))
            .with_argument("accepted");
    return {};
}

} // namespace

gpuctr_status gpuctr_hook_state_read(const char* text, uint32_t accepted,
                                     gpuctr_hook_state** ret_state, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (text == nullptr || ret_state == nullptr)
            return Error(Errc::usage, "gpuctr_hook_state_read: text or ret_state is missing");
        GPUCTR_CHECK(check_accepted("gpuctr_hook_state_read", accepted));
        GPUCTR_TRY(auto state, imports::read_hook_state(text, accepted));
        *ret_state = new gpuctr_hook_state{std::move(state)};
        return {};
    });
}

gpuctr_status gpuctr_hook_state_read_config(const char* config, uint32_t accepted,
                                            gpuctr_hook_state** ret_state, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (config == nullptr || ret_state == nullptr)
            return Error(Errc::usage,
                         "gpuctr_hook_state_read_config: config or ret_state is missing");
        GPUCTR_CHECK(check_accepted("gpuctr_hook_state_read_config", accepted));
        *ret_state = new gpuctr_hook_state{imports::read_hook_config(config, accepted)};
        return {};
    });
}

void gpuctr_hook_state_free(gpuctr_hook_state* state) { delete state; }

const char* gpuctr_hook_state_fault(const gpuctr_hook_state* state) { return state->fault.c_str(); }
int32_t gpuctr_hook_state_pid(const gpuctr_hook_state* state) { return state->pid; }
const char* gpuctr_hook_state_rootfs(const gpuctr_hook_state* state)
{
    return state->rootfs.c_str();
}

const char* gpuctr_hook_state_bundle(const gpuctr_hook_state* state)
{
    return state->bundle.c_str();
}
int gpuctr_hook_state_names_gpus(const gpuctr_hook_state* state)
{
    return state->names_gpus ? 1 : 0;
}

size_t gpuctr_hook_state_refused_count(const gpuctr_hook_state* state)
{
    return state->refused.size();
}
const char* gpuctr_hook_state_refused_at(const gpuctr_hook_state* state, size_t index)
{
    return capi::text_at(state->refused, index);
}

size_t gpuctr_hook_state_variable_count(const gpuctr_hook_state* state)
{
    return state->variables.size();
}
const char* gpuctr_hook_state_variable_at(const gpuctr_hook_state* state, size_t index)
{
    return capi::text_at(state->variables, index);
}

size_t gpuctr_hook_state_vendor_count(const gpuctr_hook_state* state)
{
    return state->vendors.size();
}
const char* gpuctr_hook_state_vendor_at(const gpuctr_hook_state* state, size_t index)
{
    return capi::text_at(state->vendors, index);
}

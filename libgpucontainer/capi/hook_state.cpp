// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace gpucontainer;

gpuctr_status gpuctr_hook_state_read(const char* text, gpuctr_hook_state** ret_state,
                                     gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (text == nullptr || ret_state == nullptr)
            return Error(Errc::usage, "gpuctr_hook_state_read: text or ret_state is missing");
        GPUCTR_TRY(auto state, imports::read_hook_state(text));
        *ret_state = new gpuctr_hook_state{std::move(state)};
        return {};
    });
}

gpuctr_status gpuctr_hook_state_read_config(const char* config, gpuctr_hook_state** ret_state,
                                            gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (config == nullptr || ret_state == nullptr)
            return Error(Errc::usage,
                         "gpuctr_hook_state_read_config: config or ret_state is missing");
        *ret_state = new gpuctr_hook_state{imports::read_hook_config(config)};
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

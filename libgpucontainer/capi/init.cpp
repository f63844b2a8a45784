// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace {

/// Fields that this library does not know become zero.
template <typename Struct>
void init(Struct* given, std::size_t size, const Struct& usual) noexcept
{
    if (given == nullptr || size < sizeof given->struct_size)
        return;
    std::memset(given, 0, size);
    std::memcpy(given, &usual, std::min(size, sizeof usual));
    given->struct_size = size;
}

} // namespace

void gpuctr_host_options_init(gpuctr_host_options* options, size_t size)
{
    init(options, size, gpuctr_host_options GPUCTR_HOST_OPTIONS_INIT);
}

void gpuctr_request_init(gpuctr_request* request, size_t size)
{
    init(request, size, gpuctr_request GPUCTR_REQUEST_INIT);
}

void gpuctr_apply_options_init(gpuctr_apply_options* options, size_t size)
{
    init(options, size, gpuctr_apply_options GPUCTR_APPLY_OPTIONS_INIT);
}

void gpuctr_undo_options_init(gpuctr_undo_options* options, size_t size)
{
    init(options, size, gpuctr_undo_options GPUCTR_UNDO_OPTIONS_INIT);
}

void gpuctr_setup_list_options_init(gpuctr_setup_list_options* options, size_t size)
{
    init(options, size, gpuctr_setup_list_options GPUCTR_SETUP_LIST_OPTIONS_INIT);
}

void gpuctr_stage_options_init(gpuctr_stage_options* options, size_t size)
{
    init(options, size, gpuctr_stage_options GPUCTR_STAGE_OPTIONS_INIT);
}

void gpuctr_cdi_options_init(gpuctr_cdi_options* options, size_t size)
{
    init(options, size, gpuctr_cdi_options GPUCTR_CDI_OPTIONS_INIT);
}

void gpuctr_check_options_init(gpuctr_check_options* options, size_t size)
{
    init(options, size, gpuctr_check_options GPUCTR_CHECK_OPTIONS_INIT);
}

void gpuctr_prepare_options_init(gpuctr_prepare_options* options, size_t size)
{
    init(options, size, gpuctr_prepare_options GPUCTR_PREPARE_OPTIONS_INIT);
}

void gpuctr_harden_options_init(gpuctr_harden_options* options, size_t size)
{
    init(options, size, gpuctr_harden_options GPUCTR_HARDEN_OPTIONS_INIT);
}

void gpuctr_load_options_init(gpuctr_load_options* options, size_t size)
{
    init(options, size, gpuctr_load_options GPUCTR_LOAD_OPTIONS_INIT);
}

void gpuctr_attach_error_init(gpuctr_attach_error* error, size_t size)
{
    init(error, size, gpuctr_attach_error GPUCTR_ATTACH_ERROR_INIT);
}

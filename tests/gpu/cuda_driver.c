// SPDX-License-Identifier: MIT
#include "cuda_driver.h"

#include <dlfcn.h>
#include <err.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

struct cuda_driver cuda;

static const struct {
    void* function;
    const char* name;
} cuda_functions[] = {
    {&cuda.init, "cuInit"},
    {&cuda.driver_version, "cuDriverGetVersion"},
    {&cuda.error_name, "cuGetErrorName"},
    {&cuda.error_string, "cuGetErrorString"},
    {&cuda.device_count, "cuDeviceGetCount"},
    {&cuda.device, "cuDeviceGet"},
    {&cuda.device_name, "cuDeviceGetName"},
    {&cuda.device_uuid, "cuDeviceGetUuid"},
    {&cuda.can_access_peer, "cuDeviceCanAccessPeer"},
    {&cuda.context_retain, "cuDevicePrimaryCtxRetain"},
    {&cuda.context_release, "cuDevicePrimaryCtxRelease"},
    {&cuda.context_set, "cuCtxSetCurrent"},
    {&cuda.context_synchronize, "cuCtxSynchronize"},
    {&cuda.enable_peer_access, "cuCtxEnablePeerAccess"},
    {&cuda.module_load, "cuModuleLoadData"},
    {&cuda.module_unload, "cuModuleUnload"},
    {&cuda.module_function, "cuModuleGetFunction"},
    {&cuda.allocate, "cuMemAlloc_v2"},
    {&cuda.release, "cuMemFree_v2"},
    {&cuda.allocate_pinned, "cuMemAllocHost_v2"},
    {&cuda.copy_in, "cuMemcpyHtoD_v2"},
    {&cuda.copy_out, "cuMemcpyDtoH_v2"},
    {&cuda.copy_in_async, "cuMemcpyHtoDAsync_v2"},
    {&cuda.copy_out_async, "cuMemcpyDtoHAsync_v2"},
    {&cuda.copy_async, "cuMemcpyDtoDAsync_v2"},
    {&cuda.copy_peer_async, "cuMemcpyPeerAsync"},
    {&cuda.launch, "cuLaunchKernel"},
};

bool check(int result, const char* step)
{
    const char* name = NULL;
    const char* text = NULL;
    if (result == 0)
        return true;
    cuda.error_name(result, &name);
    cuda.error_string(result, &text);
    warnx("%s: %s (%s, %d)", step, text != NULL ? text : "unknown error",
          name != NULL ? name : "no name", result);
    return false;
}

static bool complain(const char* text)
{
    warnx("%s", text);
    return false;
}

static void print_driver(void* library, int version)
{
    const struct link_map* map = NULL;
    char resolved[PATH_MAX] = "";
    const char* path = "unknown";
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        path = realpath(map->l_name, resolved) != NULL ? resolved : map->l_name;
    printf("libcuda %s, CUDA %d.%d\n", path, version / 1000, version % 1000 / 10);
    (void)fflush(stdout); // what follows may end the process
}

bool load_driver(void)
{
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return complain(dlerror());
    for (size_t i = 0; i < sizeof cuda_functions / sizeof cuda_functions[0]; ++i) {
        void* address = dlsym(library, cuda_functions[i].name);
        if (address == NULL)
            return complain(dlerror());
        *(void**)cuda_functions[i].function = address;
    }

    int version = 0;
    if (!check(cuda.driver_version(&version), "ask for the driver's version"))
        return false;
    print_driver(library, version);
    return check(cuda.init(0), "start CUDA");
}

bool count_gpus(int* ret_count)
{
    if (!check(cuda.device_count(ret_count), "count the GPUs"))
        return false;
    return *ret_count > 0 || complain("CUDA sees no GPU");
}

bool find_gpu(int ordinal, int* ret_device)
{
    char name[128] = "";
    device_uuid uuid = {{0}};
    if (!check(cuda.device(ret_device, ordinal), "find the GPU")
        || !check(cuda.device_name(name, sizeof name, *ret_device), "ask for the GPU's name")
        || !check(cuda.device_uuid(&uuid, *ret_device), "ask for the GPU's UUID"))
        return false;
    printf("GPU %d %s GPU-", ordinal, name);
    for (int i = 0; i < 16; ++i)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
    return true;
}

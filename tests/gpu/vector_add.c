// SPDX-License-Identifier: MIT
// Adds two vectors on each GPU that this process sees, and checks every sum.
// Needs no CUDA toolkit: the driver compiles the kernel, and the few functions
// are looked up in the libcuda.so.1 that the loader finds.

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { elements = 1 << 20, threads_per_block = 256, copies = 50 };
static const size_t copy_size = (size_t)256 << 20;

typedef unsigned long long device_pointer;
typedef struct {
    unsigned char bytes[16];
} device_uuid;

// The C interface of the CUDA driver; handles are pointers, results 0 for success.
static struct {
    int (*init)(unsigned flags);
    int (*driver_version)(int* ret_version);
    int (*error_name)(int error, const char** ret_name);
    int (*error_string)(int error, const char** ret_string);
    int (*device_count)(int* ret_count);
    int (*device)(int* ret_device, int ordinal);
    int (*device_name)(char* ret_name, int size, int device);
    int (*device_uuid)(device_uuid* ret_uuid, int device);
    int (*context_retain)(void** ret_context, int device);
    int (*context_release)(int device);
    int (*context_set)(void* context);
    int (*context_synchronize)(void);
    int (*module_load)(void** ret_module, const void* image);
    int (*module_unload)(void* module);
    int (*module_function)(void** ret_function, void* module, const char* name);
    int (*allocate)(device_pointer* ret_pointer, size_t size);
    int (*release)(device_pointer pointer);
    int (*copy_in)(device_pointer to, const void* from, size_t size);
    int (*copy_out)(void* to, device_pointer from, size_t size);
    int (*copy_async)(device_pointer to, device_pointer from, size_t size, void* stream);
    int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void* stream, void** arguments, void** extra);
} cuda;

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
    {&cuda.context_retain, "cuDevicePrimaryCtxRetain"},
    {&cuda.context_release, "cuDevicePrimaryCtxRelease"},
    {&cuda.context_set, "cuCtxSetCurrent"},
    {&cuda.context_synchronize, "cuCtxSynchronize"},
    {&cuda.module_load, "cuModuleLoadData"},
    {&cuda.module_unload, "cuModuleUnload"},
    {&cuda.module_function, "cuModuleGetFunction"},
    {&cuda.allocate, "cuMemAlloc_v2"},
    {&cuda.release, "cuMemFree_v2"},
    {&cuda.copy_in, "cuMemcpyHtoD_v2"},
    {&cuda.copy_out, "cuMemcpyDtoH_v2"},
    {&cuda.copy_async, "cuMemcpyDtoDAsync_v2"},
    {&cuda.launch, "cuLaunchKernel"},
};

static const char kernel[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry vector_add(.param .u64 a, .param .u64 b,\n"
                             "                           .param .u64 sum, .param .u32 count)\n"
                             "{\n"
                             "    .reg .pred %outside;\n"
                             "    .reg .f32 %x, %y;\n"
                             "    .reg .b32 %block, %size, %thread, %index, %count;\n"
                             "    .reg .b64 %a, %b, %sum, %offset;\n"
                             "    ld.param.u64 %a, [a];\n"
                             "    ld.param.u64 %b, [b];\n"
                             "    ld.param.u64 %sum, [sum];\n"
                             "    ld.param.u32 %count, [count];\n"
                             "    mov.u32 %block, %ctaid.x;\n"
                             "    mov.u32 %size, %ntid.x;\n"
                             "    mov.u32 %thread, %tid.x;\n"
                             "    mad.lo.u32 %index, %block, %size, %thread;\n"
                             "    setp.ge.u32 %outside, %index, %count;\n"
                             "    @%outside bra done;\n"
                             "    mul.wide.u32 %offset, %index, 4;\n"
                             "    add.u64 %a, %a, %offset;\n"
                             "    add.u64 %b, %b, %offset;\n"
                             "    add.u64 %sum, %sum, %offset;\n"
                             "    cvta.to.global.u64 %a, %a;\n"
                             "    cvta.to.global.u64 %b, %b;\n"
                             "    cvta.to.global.u64 %sum, %sum;\n"
                             "    ld.global.f32 %x, [%a];\n"
                             "    ld.global.f32 %y, [%b];\n"
                             "    add.f32 %x, %x, %y;\n"
                             "    st.global.f32 [%sum], %x;\n"
                             "done:\n"
                             "    ret;\n"
                             "}\n";

/// True when `result` is success; otherwise says what `step` failed with.
static bool check(int result, const char* step)
{
    const char* name = NULL;
    const char* text = NULL;
    if (result == 0)
        return true;
    cuda.error_name(result, &name);
    cuda.error_string(result, &text);
    fprintf(stderr, "vector_add: %s: %s (%s, %d)\n", step, text != NULL ? text : "unknown error",
            name != NULL ? name : "no name", result);
    return false;
}

/// Loads the driver, and prints which file it is and the CUDA version it serves.
static bool load_driver(void)
{
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "vector_add: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof cuda_functions / sizeof cuda_functions[0]; ++i) {
        const void* address = dlsym(library, cuda_functions[i].name);
        if (address == NULL) {
            fprintf(stderr, "vector_add: %s\n", dlerror());
            return false;
        }
        memcpy(cuda_functions[i].function, &address, sizeof address);
    }

    const struct link_map* map = NULL;
    char path[PATH_MAX] = "unknown";
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) == NULL)
        snprintf(path, sizeof path, "%s", map->l_name);
    int version = 0;
    if (!check(cuda.driver_version(&version), "ask for the driver's version"))
        return false;
    printf("libcuda %s, CUDA %d.%d\n", path, version / 1000, version % 1000 / 10);
    fflush(stdout); // what follows may end the process
    return check(cuda.init(0), "start CUDA");
}

static float left(unsigned i) { return (float)(i % 4096); }
static float right(unsigned i) { return (float)(i / 4096) * 0.5F; }

/// Number of right sums among `sums`.
static unsigned count_right(const float* sums)
{
    unsigned right_sums = 0;
    for (unsigned i = 0; i < elements; ++i)
        right_sums += sums[i] == left(i) + right(i);
    return right_sums;
}

/// Computes `host`, which holds two vectors of input and one for the sums.
static bool add_vectors(void* function, device_pointer memory, float* host)
{
    const size_t size = elements * sizeof(float);
    device_pointer a = memory;
    device_pointer b = memory + size;
    device_pointer sum = memory + 2 * size;
    unsigned count = elements;
    void* arguments[] = {&a, &b, &sum, &count};

    for (unsigned i = 0; i < elements; ++i) {
        host[i] = left(i);
        host[elements + i] = right(i);
        host[2 * elements + i] = -1.0F;
    }
    return check(cuda.copy_in(memory, host, 3 * size), "copy to the GPU")
           && check(cuda.launch(function, elements / threads_per_block, 1, 1, threads_per_block, 1,
                                1, 0, NULL, arguments, NULL),
                    "launch the kernel")
           && check(cuda.context_synchronize(), "run the kernel")
           && check(cuda.copy_out(host + 2 * elements, sum, size), "copy from the GPU");
}

static bool run_kernel(float* host, unsigned* ret_right)
{
    void* module = NULL;
    void* function = NULL;
    device_pointer memory = 0;
    bool done = check(cuda.module_load(&module, kernel), "compile the kernel")
                && check(cuda.module_function(&function, module, "vector_add"), "find the kernel")
                && check(cuda.allocate(&memory, 3 * elements * sizeof(float)), "allocate memory")
                && add_vectors(function, memory, host);
    if (done)
        *ret_right = count_right(host + 2 * (size_t)elements);
    if (memory != 0)
        done = check(cuda.release(memory), "free memory") && done;
    if (module != NULL)
        done = check(cuda.module_unload(module), "unload the kernel") && done;
    return done;
}

static double now(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Copies within the GPU `count` times.
static bool copy(device_pointer memory, int count)
{
    for (int i = 0; i < count; ++i)
        if (!check(cuda.copy_async(memory + copy_size, memory, copy_size, NULL), "copy"))
            return false;
    return check(cuda.context_synchronize(), "copy");
}

/// Prints how fast the GPU copies within its memory, bytes read plus bytes written.
static bool measure_bandwidth(int ordinal)
{
    device_pointer memory = 0;
    if (!check(cuda.allocate(&memory, 2 * copy_size), "allocate memory to copy"))
        return false;
    bool done = copy(memory, 3); // clocks and page tables are up afterwards
    const double start = now();
    done = done && copy(memory, copies);
    const double seconds = now() - start;
    if (done)
        printf("GPU %d device-to-device copy: %.0f GB/s\n", ordinal,
               2.0 * (double)copy_size * copies / seconds * 1e-9);
    return check(cuda.release(memory), "free memory") && done;
}

static void print_gpu(int ordinal, const char* name, const device_uuid* uuid)
{
    printf("GPU %d %s GPU-", ordinal, name);
    for (int i = 0; i < 16; ++i)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->bytes[i]);
}

static bool test_gpu(int ordinal, float* host, bool bandwidth)
{
    int device = 0;
    char name[128] = "";
    device_uuid uuid = {{0}};
    void* context = NULL;
    if (!check(cuda.device(&device, ordinal), "find the GPU")
        || !check(cuda.device_name(name, sizeof name, device), "ask for the GPU's name")
        || !check(cuda.device_uuid(&uuid, device), "ask for the GPU's UUID")
        || !check(cuda.context_retain(&context, device), "start the GPU"))
        return false;

    unsigned right_sums = 0;
    bool done = check(cuda.context_set(context), "use the GPU") && run_kernel(host, &right_sums);
    print_gpu(ordinal, name, &uuid);
    printf(": %u sums right\n", right_sums);
    if (done && right_sums != elements)
        fprintf(stderr, "vector_add: GPU %d: %u of %u sums are wrong\n", ordinal,
                elements - right_sums, (unsigned)elements);
    done = done && right_sums == elements && (!bandwidth || measure_bandwidth(ordinal));
    return check(cuda.context_release(device), "stop the GPU") && done;
}

int main(int argc, char** argv)
{
    const bool bandwidth = argc == 2 && strcmp(argv[1], "--bandwidth") == 0;
    if (argc > 1 && !bandwidth) {
        fprintf(stderr, "usage: vector_add [--bandwidth]\n");
        return 2;
    }
    int count = 0;
    if (!load_driver() || !check(cuda.device_count(&count), "count the GPUs"))
        return 1;
    if (count == 0) {
        fprintf(stderr, "vector_add: CUDA sees no GPU\n");
        return 1;
    }
    float* host = malloc(3 * elements * sizeof(float));
    if (host == NULL) {
        fprintf(stderr, "vector_add: out of memory\n");
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < count; ++i)
        failed += !test_gpu(i, host, bandwidth);
    free(host);
    return failed == 0 ? 0 : 1;
}

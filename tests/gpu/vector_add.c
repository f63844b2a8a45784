// SPDX-License-Identifier: MIT
// Adds two vectors on each GPU that this process sees, and checks every sum.
// With --list it says which GPUs those are, without starting them. Needs no
// CUDA toolkit: the driver compiles the kernel.

#include "cuda_driver.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { elements = 1 << 20, threads_per_block = 256 };
static const size_t vector_size = elements * sizeof(float);

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

static float left(unsigned i) { return (float)(i % 4096); }
static float right(unsigned i)
{
    const unsigned row = i / 4096;
    return (float)row * 0.5F;
}

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
    device_pointer a = memory;
    device_pointer b = memory + vector_size;
    device_pointer sum = memory + 2 * vector_size;
    unsigned count = elements;
    void* arguments[] = {&a, &b, &sum, &count};

    for (unsigned i = 0; i < elements; ++i) {
        host[i] = left(i);
        host[elements + i] = right(i);
        host[2 * elements + i] = -1.0F;
    }
    return check(cuda.copy_in(memory, host, 3 * vector_size), "copy to the GPU")
           && check(cuda.launch(function, elements / threads_per_block, 1, 1, threads_per_block, 1,
                                1, 0, NULL, arguments, NULL),
                    "launch the kernel")
           && check(cuda.context_synchronize(), "run the kernel")
           && check(cuda.copy_out(host + 2 * (size_t)elements, sum, vector_size),
                    "copy from the GPU");
}

static bool run_kernel(float* host, unsigned* ret_right)
{
    void* module = NULL;
    void* function = NULL;
    device_pointer memory = 0;
    bool done = check(cuda.module_load(&module, kernel), "compile the kernel")
                && check(cuda.module_function(&function, module, "vector_add"), "find the kernel")
                && check(cuda.allocate(&memory, 3 * vector_size), "allocate memory")
                && add_vectors(function, memory, host);
    if (done)
        *ret_right = count_right(host + 2 * (size_t)elements);
    if (memory != 0)
        done = check(cuda.release(memory), "free memory") && done;
    if (module != NULL)
        done = check(cuda.module_unload(module), "unload the kernel") && done;
    return done;
}

static bool add_on_gpu(int device, float* host, unsigned* ret_right)
{
    void* context = NULL;
    if (!check(cuda.context_retain(&context, device), "start the GPU"))
        return false;
    const bool done =
        check(cuda.context_set(context), "use the GPU") && run_kernel(host, ret_right);
    return check(cuda.context_release(device), "stop the GPU") && done;
}

static bool test_gpu(int ordinal, float* host)
{
    int device = 0;
    unsigned right_sums = 0;
    if (!find_gpu(ordinal, &device))
        return false;
    const bool done = add_on_gpu(device, host, &right_sums);
    printf(": %u sums right\n", right_sums);
    if (done && right_sums != elements)
        warnx("GPU %d: %u of %u sums are wrong", ordinal, elements - right_sums,
              (unsigned)elements);
    return done && right_sums == elements;
}

/// Number of the `count` GPUs that failed.
static int test_gpus(int count)
{
    float* host = malloc(3 * vector_size);
    if (host == NULL) {
        warnx("out of memory");
        return count;
    }
    int failed = 0;
    for (int i = 0; i < count; ++i)
        failed += !test_gpu(i, host);
    free(host);
    return failed;
}

static int list_gpus(int count)
{
    int failed = 0;
    for (int i = 0; i < count; ++i) {
        int device = 0;
        failed += !find_gpu(i, &device);
        printf("\n");
    }
    return failed;
}

int main(int argc, char** argv)
{
    const bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    if (argc > 1 && !list) {
        warnx("usage: vector_add [--list]");
        return 2;
    }
    int count = 0;
    if (!load_driver() || !count_gpus(&count))
        return 1;
    const int failed = list ? list_gpus(count) : test_gpus(count);
    return failed == 0 ? 0 : 1;
}

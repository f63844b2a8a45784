// SPDX-License-Identifier: MIT
// Measures how fast each GPU that this process sees copies: from and to pinned
// memory of the host, within its own memory, and to the next GPU. Prints a line
// "KIND FROM>TO GB/S" a sample, ordinals being those that CUDA counts.

#include "cuda_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { max_gpus = 16, samples = 5 };
static const size_t copy_size = (size_t)256 << 20;

struct gpu {
    int ordinal;
    int device;
    void* context;
    device_pointer memory; ///< Two buffers, one after the other.
};

typedef enum { host_to_device, device_to_host, device_to_device, peer_to_peer } copy_kind;

/// A sample is long enough for the clock, and for a copy's start not to count.
static const struct {
    const char* name;
    int copies;
    int bytes_per_byte; ///< What is read and written in the same memory counts twice.
} kinds[] = {
    [host_to_device] = {"host-to-device", 8, 1},
    [device_to_host] = {"device-to-host", 8, 1},
    [device_to_device] = {"device-to-device", 200, 2},
    [peer_to_peer] = {"peer-to-peer", 32, 1},
};

static double now(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int enqueue(copy_kind kind, const struct gpu* from, const struct gpu* to, void* pinned)
{
    switch (kind) {
    case host_to_device:
        return cuda.copy_in_async(to->memory, pinned, copy_size, NULL);
    case device_to_host:
        return cuda.copy_out_async(pinned, from->memory, copy_size, NULL);
    case device_to_device:
        return cuda.copy_async(to->memory + copy_size, from->memory, copy_size, NULL);
    case peer_to_peer:
        break;
    }
    return cuda.copy_peer_async(to->memory + copy_size, to->context, from->memory, from->context,
                                copy_size, NULL);
}

static bool copy(copy_kind kind, const struct gpu* from, const struct gpu* to, void* pinned,
                 int copies)
{
    for (int i = 0; i < copies; ++i)
        if (!check(enqueue(kind, from, to, pinned), kinds[kind].name))
            return false;
    return check(cuda.context_synchronize(), kinds[kind].name);
}

/// Prints one sample.
static bool measure(copy_kind kind, const struct gpu* from, const struct gpu* to, void* pinned)
{
    const int copies = kinds[kind].copies;
    const int warm_up = copies / 8 + 1; // clocks and page tables are up afterwards
    if (!check(cuda.context_set(from->context), "use the GPU")
        || !copy(kind, from, to, pinned, warm_up))
        return false;
    const double start = now();
    if (!copy(kind, from, to, pinned, copies))
        return false;
    const double bytes = (double)copy_size * copies * kinds[kind].bytes_per_byte;
    printf("%s %d>%d %.2f\n", kinds[kind].name, from->ordinal, to->ordinal,
           bytes / (now() - start) * 1e-9);
    return true;
}

/// Lets `from` write into the memory of `to`; false where the machine does not.
static bool reach(const struct gpu* from, const struct gpu* to)
{
    int can = 0;
    return cuda.can_access_peer(&can, from->device, to->device) == 0 && can != 0
           && check(cuda.context_set(from->context), "use the GPU")
           && check(cuda.enable_peer_access(to->context, 0), "reach the next GPU");
}

static bool start_gpu(struct gpu* gpu, int ordinal)
{
    gpu->ordinal = ordinal;
    if (!find_gpu(ordinal, &gpu->device))
        return false;
    printf("\n");
    return check(cuda.context_retain(&gpu->context, gpu->device), "start the GPU")
           && check(cuda.context_set(gpu->context), "use the GPU")
           && check(cuda.allocate(&gpu->memory, 2 * copy_size), "allocate memory");
}

/// Sample after sample of everything, so that a slow moment hits no kind alone.
static bool measure_all(const struct gpu* gpus, const bool* reaches_next, int count, void* pinned)
{
    for (int sample = 0; sample < samples; ++sample)
        for (int i = 0; i < count; ++i) {
            const struct gpu* gpu = &gpus[i];
            if (!measure(host_to_device, gpu, gpu, pinned)
                || !measure(device_to_host, gpu, gpu, pinned)
                || !measure(device_to_device, gpu, gpu, pinned)
                || (reaches_next[i] && !measure(peer_to_peer, gpu, &gpus[(i + 1) % count], pinned)))
                return false;
        }
    return true;
}

int main(void)
{
    int count = 0;
    struct gpu gpus[max_gpus];
    bool reaches_next[max_gpus] = {false};
    void* pinned = NULL;
    if (!load_driver() || !count_gpus(&count))
        return 1;
    if (count > max_gpus)
        count = max_gpus;
    for (int i = 0; i < count; ++i)
        if (!start_gpu(&gpus[i], i))
            return 1;
    for (int i = 0; count > 1 && i < count; ++i)
        reaches_next[i] = reach(&gpus[i], &gpus[(i + 1) % count]);
    if (!check(cuda.allocate_pinned(&pinned, copy_size), "allocate pinned memory"))
        return 1;
    // The process's end releases what it has of the GPUs.
    return measure_all(gpus, reaches_next, count, pinned) ? 0 : 1;
}

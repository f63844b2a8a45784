// SPDX-License-Identifier: MIT
// The few functions of the CUDA driver that the programs here use, looked up in
// the libcuda.so.1 that the loader finds; a CUDA toolkit is not needed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long device_pointer;
typedef struct {
    unsigned char bytes[16];
} device_uuid;

/// The C interface of the CUDA driver; handles are pointers, results 0 for
/// success. load_driver() fills it.
extern struct cuda_driver {
    int (*init)(unsigned flags);
    int (*driver_version)(int* ret_version);
    int (*error_name)(int error, const char** ret_name);
    int (*error_string)(int error, const char** ret_string);
    int (*device_count)(int* ret_count);
    int (*device)(int* ret_device, int ordinal);
    int (*device_name)(char* ret_name, int size, int device);
    int (*device_uuid)(device_uuid* ret_uuid, int device);
    int (*can_access_peer)(int* ret_can, int device, int peer);
    int (*context_retain)(void** ret_context, int device);
    int (*context_release)(int device);
    int (*context_set)(void* context);
    int (*context_synchronize)(void);
    int (*enable_peer_access)(void* peer_context, unsigned flags);
    int (*module_load)(void** ret_module, const void* image);
    int (*module_unload)(void* module);
    int (*module_function)(void** ret_function, void* module, const char* name);
    int (*allocate)(device_pointer* ret_pointer, size_t size);
    int (*release)(device_pointer pointer);
    int (*allocate_pinned)(void** ret_pointer, size_t size);
    int (*copy_in)(device_pointer to, const void* from, size_t size);
    int (*copy_out)(void* to, device_pointer from, size_t size);
    int (*copy_in_async)(device_pointer to, const void* from, size_t size, void* stream);
    int (*copy_out_async)(void* to, device_pointer from, size_t size, void* stream);
    int (*copy_async)(device_pointer to, device_pointer from, size_t size, void* stream);
    int (*copy_peer_async)(device_pointer to, void* to_context, device_pointer from,
                           void* from_context, size_t size, void* stream);
    int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void* stream, void** arguments, void** extra);
} cuda;

/// True when `result` is success; otherwise says what `step` failed with.
bool check(int result, const char* step);

/// Loads the driver, prints which file it is and the CUDA version it serves, and
/// starts it.
bool load_driver(void);

/// Number of GPUs that CUDA sees; none is an error.
bool count_gpus(int* ret_count);

/// Finds the GPU `ordinal` and prints its name and UUID, without ending the line.
bool find_gpu(int ordinal, int* ret_device);

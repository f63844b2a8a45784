// SPDX-License-Identifier: MIT
// Prints the GPUs that OpenCL's loader shows, a line each, and has each of them square some
// numbers.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <err.h>
#include <stdbool.h>
#include <stdio.h>

enum { elements = 1024, most_platforms = 16, most_devices = 256 };

static const char* source = "__kernel void square(__global uint* n)\n"
                            "{ size_t i = get_global_id(0); n[i] = n[i] * n[i]; }\n";

static bool check(cl_int result, const char* step)
{
    if (result != CL_SUCCESS)
        warnx("%s: OpenCL error %d", step, result);
    return result == CL_SUCCESS;
}

static unsigned count_right(const cl_uint* squares)
{
    unsigned right = 0;
    for (cl_uint i = 0; i < elements; ++i)
        right += squares[i] == i * i;
    return right;
}

static bool run_kernel(cl_context context, cl_command_queue queue, cl_kernel kernel,
                       unsigned* ret_right)
{
    cl_uint numbers[elements];
    cl_int result = CL_SUCCESS;
    const size_t count = elements;
    for (cl_uint i = 0; i < elements; ++i)
        numbers[i] = i;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof numbers, numbers, &result);
    if (!check(result, "allocate memory"))
        return false;
    const bool done =
        check(clSetKernelArg(kernel, 0, sizeof memory, (const void*)&memory), "set the argument")
        && check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL),
                 "launch the kernel")
        && check(
            clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL),
            "copy from the GPU");
    if (done)
        *ret_right = count_right(numbers);
    return check(clReleaseMemObject(memory), "free memory") && done;
}

static bool compile_and_run(cl_context context, cl_device_id device, unsigned* ret_right)
{
    cl_int result = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &result);
    if (!check(result, "make the program"))
        return false;
    bool done = check(clBuildProgram(program, 1, &device, "", NULL, NULL), "compile the program");
    cl_kernel kernel = done ? clCreateKernel(program, "square", &result) : NULL;
    cl_command_queue queue =
        kernel != NULL ? clCreateCommandQueue(context, device, 0, &result) : NULL;
    done = done && check(result, "make kernel and queue")
           && run_kernel(context, queue, kernel, ret_right);
    if (queue != NULL)
        clReleaseCommandQueue(queue);
    if (kernel != NULL)
        clReleaseKernel(kernel);
    clReleaseProgram(program);
    return done;
}

static bool test_device(cl_device_id device)
{
    char name[256] = "";
    char version[256] = "";
    unsigned right = 0;
    cl_int result = CL_SUCCESS;
    if (!check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "ask for a name")
        || !check(clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version, version, NULL),
                  "ask for the driver's version"))
        return false;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    if (!check(result, "start the GPU"))
        return false;
    const bool done = compile_and_run(context, device, &right);
    clReleaseContext(context);
    printf("%s, driver %s: %u of %d squares right\n", name, version, right, elements);
    return done && right == elements;
}

static int test_platform(cl_platform_id platform, unsigned* count)
{
    cl_device_id devices[most_devices];
    cl_uint found = 0;
    int failed = 0;
    // A platform without a GPU says so with an error.
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, most_devices, devices, &found) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < found && i < most_devices; ++i, ++*count)
        failed += !test_device(devices[i]);
    return failed;
}

int main(void)
{
    cl_platform_id platforms[most_platforms];
    cl_uint found = 0;
    unsigned count = 0;
    int failed = 0;
    if (!check(clGetPlatformIDs(most_platforms, platforms, &found), "find OpenCL's drivers"))
        return 1;
    for (cl_uint i = 0; i < found && i < most_platforms; ++i)
        failed += test_platform(platforms[i], &count);
    if (count == 0)
        warnx("OpenCL sees no GPU");
    return count > 0 && failed == 0 ? 0 : 1;
}

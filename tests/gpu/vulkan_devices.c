// SPDX-License-Identifier: MIT
// Prints the GPUs that Vulkan's loader shows without a display, a line each, and opens each of
// them.

#include <vulkan/vulkan.h>

#include <err.h>
#include <stdbool.h>
#include <stdio.h>

enum { most_devices = 64 };

static bool check(VkResult result, const char* step)
{
    if (result != VK_SUCCESS)
        warnx("%s: Vulkan error %d", step, result);
    return result == VK_SUCCESS;
}

static bool opens(VkPhysicalDevice physical)
{
    const float priority = 1.0F;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = 0,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkDeviceCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
    };
    VkDevice device = NULL;
    if (!check(vkCreateDevice(physical, &wanted, NULL, &device), "open the GPU"))
        return false;
    vkDestroyDevice(device, NULL);
    return true;
}

/// Programs of the processor, such as llvmpipe, are no GPUs.
static bool is_gpu(const VkPhysicalDeviceProperties* properties)
{
    return properties->deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
}

static bool test_device(VkPhysicalDevice device, unsigned* count)
{
    VkPhysicalDeviceIDProperties id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
    };
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &id,
    };
    vkGetPhysicalDeviceProperties2(device, &properties);
    if (!is_gpu(&properties.properties))
        return true;
    ++*count;
    printf("%s GPU-", properties.properties.deviceName);
    for (unsigned i = 0; i < VK_UUID_SIZE; ++i)
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id.deviceUUID[i]);
    const bool done = opens(device);
    printf(": %s\n", done ? "opened" : "not opened");
    return done;
}

static int test_devices(VkInstance instance, unsigned* count)
{
    VkPhysicalDevice devices[most_devices];
    uint32_t found = most_devices;
    int failed = 0;
    if (!check(vkEnumeratePhysicalDevices(instance, &found, devices), "list the GPUs"))
        return 1;
    for (uint32_t i = 0; i < found; ++i)
        failed += !test_device(devices[i], count);
    return failed;
}

int main(void)
{
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .apiVersion = VK_API_VERSION_1_1,
    };
    const VkInstanceCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    VkInstance instance = NULL;
    unsigned count = 0;
    if (!check(vkCreateInstance(&wanted, NULL, &instance), "start Vulkan"))
        return 1;
    const int failed = test_devices(instance, &count);
    vkDestroyInstance(instance, NULL);
    if (count == 0)
        warnx("Vulkan sees no GPU");
    return count > 0 && failed == 0 ? 0 : 1;
}

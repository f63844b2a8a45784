// SPDX-License-Identifier: MIT
#include "image/loop_device.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "syscall/capabilities.hpp"
#include "syscall/id_map.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <linux/capability.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

namespace gpuctr_cli {
namespace {

namespace syscall = gpucontainer::syscall;

constexpr const char* control_device = "/dev/loop-control";
/// Others may take a free device before us.
constexpr int most_tries = 100;

loop_info64 information(const ImageFile& image)
{
    loop_info64 information = {};
    information.lo_offset = image.offset;
    information.lo_sizelimit = image.size;
    information.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
    return information;
}

/// Before Linux 5.8 in two steps. -1 with errno.
int configure(const Fd& device, const ImageFile& image)
{
    loop_config configuration = {};
    configuration.fd = static_cast<__u32>(image.file.get());
    configuration.info = information(image);
    if (::ioctl(device.get(), LOOP_CONFIGURE, &configuration) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOTTY)
        return -1;
    if (::ioctl(device.get(), LOOP_SET_FD, image.file.get()) != 0)
        return -1;
    loop_info64 rest = information(image);
    if (::ioctl(device.get(), LOOP_SET_STATUS64, &rest) == 0)
        return 0;
    const int error = errno;
    (void)::ioctl(device.get(), LOOP_CLR_FD);
    errno = error;
    return -1;
}

} // namespace

bool may_use_loop_devices() noexcept
{
    const auto capabilities = syscall::read_capabilities();
    return capabilities && (capabilities->effective & syscall::bit(CAP_SYS_ADMIN)) != 0
           && syscall::is_in_initial_user_namespace().value_or(false);
}

Fd attach_to_loop_device(const ImageFile& image)
{
    const Fd control(::open(control_device, O_RDWR | O_CLOEXEC));
    if (!control)
        fail(control_device, GPUCTR_E_APPLY, "load the kernel module: modprobe loop");
    for (int tries = 0; tries < most_tries; ++tries) {
        const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0)
            fail("find a free loop device", GPUCTR_E_APPLY);
        const std::string path = formatted("/dev/loop{}", number);
        Fd device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!device)
            fail(path, GPUCTR_E_APPLY, "the kernel says that it is free, but it has no node");
        if (configure(device, image) == 0)
            return device;
        if (errno != EBUSY)
            fail(formatted("attach image {} to {}", image.name, path), GPUCTR_E_APPLY);
    }
    fail("find a free loop device", GPUCTR_E_APPLY, "others took each of them first: try again");
}

} // namespace gpuctr_cli

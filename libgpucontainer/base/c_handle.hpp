// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

namespace gpucontainer::base {

template <auto Release>
struct Releaser {
    template <typename T>
    void operator()(T* object) const noexcept
    {
        (void)Release(object); // some return NULL
    }
};

/// An object of a C library, released by `Release`.
///
///     using UdevDevice = base::CHandle<udev_device, udev_device_unref>;
template <typename T, auto Release>
using CHandle = std::unique_ptr<T, Releaser<Release>>;

} // namespace gpucontainer::base

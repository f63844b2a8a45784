# SPDX-License-Identifier: MIT
# CuPy: a kernel that it compiles itself, on each GPU.
import cupy

for index in range(cupy.cuda.runtime.getDeviceCount()):
    with cupy.cuda.Device(index) as device:
        square = cupy.ElementwiseKernel("int64 n", "int64 m", "m = n * n", "square")
        right = int(square(cupy.arange(1000)).sum()) == sum(n * n for n in range(1000))
        print(device.pci_bus_id, "right" if right else "wrong")

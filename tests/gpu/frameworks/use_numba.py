# SPDX-License-Identifier: MIT
# numba: a kernel of Python on each GPU.
import numpy
from numba import cuda


@cuda.jit
def square(numbers):
    index = cuda.grid(1)
    if index < numbers.size:
        numbers[index] *= numbers[index]


for gpu in cuda.gpus:
    with gpu:
        numbers = cuda.to_device(numpy.arange(1000))
        square[4, 256](numbers)
        right = (numbers.copy_to_host() == numpy.arange(1000) ** 2).all()
        print(gpu.name.decode(), "right" if right else "wrong")

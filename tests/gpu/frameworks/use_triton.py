# SPDX-License-Identifier: MIT
# Triton: a kernel with a launcher that it compiles and links with libcuda.
import torch
import triton
import triton.language as tl


@triton.jit
def add(left, right, result, count, block: tl.constexpr):
    index = tl.program_id(0) * block + tl.arange(0, block)
    inside = index < count
    tl.store(result + index, tl.load(left + index, inside) + tl.load(right + index, inside), inside)


for index in range(torch.cuda.device_count()):
    with torch.cuda.device(index):
        numbers = torch.arange(1000, device="cuda")
        result = torch.empty_like(numbers)
        add[(4,)](numbers, numbers, result, 1000, block=256)
        right = torch.equal(result.cpu(), 2 * numbers.cpu())
        print(torch.cuda.get_device_properties(index).uuid, "right" if right else "wrong")

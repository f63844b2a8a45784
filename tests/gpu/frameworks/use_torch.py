# SPDX-License-Identifier: MIT
# PyTorch: a product of matrices on each GPU.
import torch

for index in range(torch.cuda.device_count()):
    a = torch.arange(256 * 256, dtype=torch.float64, device=f"cuda:{index}").reshape(256, 256)
    right = torch.equal((a @ a).cpu(), a.cpu() @ a.cpu())
    print(torch.cuda.get_device_properties(index).uuid, "right" if right else "wrong")

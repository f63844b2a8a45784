# SPDX-License-Identifier: MIT
# JAX: a compiled sum of squares on each GPU.
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402 (it reads the variable)
import jax.numpy as jnp  # noqa: E402

for device in jax.devices("gpu"):
    numbers = jax.device_put(jnp.arange(1000, dtype=jnp.int32), device)
    right = int(jax.jit(lambda n: (n * n).sum())(numbers)) == sum(n * n for n in range(1000))
    print(device.device_kind, "right" if right else "wrong")

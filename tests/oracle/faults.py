# SPDX-License-Identifier: MIT
"""All faults: importing a room puts its own into model.FAULTS."""

# The order is that of the table, and of faults that block at the same place.
# pylint: disable=unused-import
import host_nvidia
import host_driver
import host_others
import image_libc
import image_cuda
import image_others
import request_faults
from model import FAULTS

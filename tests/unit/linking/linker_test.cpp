// SPDX-License-Identifier: MIT
#include "linking/linker.hpp"

#include <gtest/gtest.h>

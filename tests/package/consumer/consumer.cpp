// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.hpp>

#include <iostream>

int main() { std::cout << gpucontainer::version() << '\n'; }

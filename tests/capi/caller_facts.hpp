// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::test {

/// What is true of a process or thread, by a name for it.
using Facts = std::map<std::string, std::string>;

/// Credentials, capabilities, signals and the like, as /proc has them.
void read_status(const std::string& path, Facts& facts);
/// Descriptors or namespaces, as /proc has them.
void read_links(const char* directory, Facts& facts);

/// Everything of the calling process and thread that a library could change.
Facts facts_of_process();
/// The same of each of its threads and its signal handlers.
void add_facts_of_threads(Facts& facts);

/// A line for each fact that is another one.
std::vector<std::string> differences(const Facts& before, const Facts& after);

} // namespace gpucontainer::test

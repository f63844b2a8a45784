// SPDX-License-Identifier: MIT
// What a node has, as a cluster manager wants to be told of it.
#include <gpucontainer/gpucontainer.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

using gpucontainer::Driver;
using gpucontainer::Gpu;
using gpucontainer::Host;

namespace {

/// "NVIDIA H200" as "nvidia_h200": managers take no blanks in the name of a type.
std::string type_of(const Gpu& gpu)
{
    std::string type(gpu.model());
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) {
        return std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
    });
    return type;
}

/// The node of a GPU, when this process may use it; "" otherwise.
std::string usable_node(const Driver& driver, const Gpu& gpu)
{
    for (const auto node : driver.nodes())
        if (node.gpu() == gpu.index() && node.accessible())
            return std::string(node.path());
    return "";
}

void print(const Driver& driver)
{
    std::map<std::string, int> counts;
    std::string lines;
    for (const auto gpu : driver.gpus()) {
        const std::string node = usable_node(driver, gpu);
        if (node.empty()) {
            std::cerr << "cpp-inventory: " << gpu.pci_address() << ": not usable, left out\n";
            continue;
        }
        ++counts[type_of(gpu)];
        lines += "Name=gpu Type=" + type_of(gpu) + " File=" + node + " # " + std::string(gpu.uuid())
                 + " " + std::string(gpu.pci_address()) + "\n";
    }
    std::string gres;
    for (const auto& [type, count] : counts)
        gres += (gres.empty() ? "gpu:" : ",gpu:") + type + ":" + std::to_string(count);
    std::cout << "Gres=" << gres << " Driver=" << driver.vendor() << '-' << driver.version() << '\n'
              << lines;
}

/// The record in a file while it is true, else a new one, which is kept there.
Host look(const std::filesystem::path& record)
{
    std::ifstream file(record);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    try {
        if (Host kept = Host::from_json(text); kept.is_current())
            return kept;
    } catch (const gpucontainer::Error&) {
        // Whatever it is, it is no record.
    }
    Host host;
    const std::filesystem::path fresh = record.string() + ".new";
    std::ofstream(fresh) << host.to_json();
    std::filesystem::rename(fresh, record); // a reader sees the old one or the new one
    return host;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc > 2) {
        std::cerr << "usage: cpp-inventory [RECORD]\n";
        return 2;
    }
    const Host host = argc == 2 ? look(argv[1]) : Host();
    for (const auto driver : host.drivers())
        print(driver);
    return 0;
} catch (const gpucontainer::Error& error) {
    std::cerr << "cpp-inventory: " << error.what() << '\n';
    if (!error.hint().empty())
        std::cerr << "hint: " << error.hint() << '\n';
    return -error.status();
} catch (const std::exception& exception) {
    std::cerr << "cpp-inventory: " << exception.what() << '\n';
    return 1;
}

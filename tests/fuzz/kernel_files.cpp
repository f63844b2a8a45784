// SPDX-License-Identifier: MIT
#include "drivers/nvidia/kernel.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/scratch.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

namespace gpucontainer::fuzz {
namespace {

constexpr std::array names = {
    "proc/devices",
    "sys/module/nvidia/version",
    "proc/driver/nvidia/version",
    "proc/driver/nvidia/params",
    "proc/driver/nvidia/gpus/0000:06:00.0/information",
    "proc/driver/nvidia/gpus/0000:07:00.0/information",
};

/// The files of a kernel module, as links to files that are filled anew.
class Kernel {
public:
    Kernel()
        : scratch_({"proc/driver/nvidia/gpus/0000:06:00.0", "proc/driver/nvidia/gpus/0000:07:00.0",
                    "sys/module/nvidia"},
                   {})
    {
        for (std::size_t i = 0; i < names.size(); ++i) {
            files_.at(i) = memory_file("");
            std::filesystem::create_symlink(base::format("/proc/self/fd/{}", files_.at(i).get()),
                                            scratch_.path() / names.at(i));
        }
    }

    /// Parts of the input, between lines of "==", are the files.
    void set(std::string_view input) const
    {
        constexpr std::string_view separator = "==\n";
        for (const base::UniqueFd& file : files_) {
            const auto end = input.find(separator);
            fill(file.get(), input.substr(0, end));
            input.remove_prefix(end == std::string_view::npos ? input.size()
                                                              : end + separator.size());
        }
    }

    std::string root() const { return scratch_.path(); }

private:
    Scratch scratch_;
    std::array<base::UniqueFd, names.size()> files_;
};

void check_gpus(const drivers::nvidia::Gpus& found)
{
    constexpr int control_minor = 255;
    for (std::size_t i = 0; i < found.gpus.size(); ++i) {
        const model::Gpu& gpu = found.gpus[i];
        demand(gpu.index == i, "GPUs are numbered");
        demand(gpu.minor >= -1 && gpu.minor < control_minor, "a minor is one of a GPU");
        demand(gpu.uuid.find('?') == std::string::npos, "a UUID is known or not");
    }
    const auto without_node =
        std::ranges::count_if(found.gpus, [](const model::Gpu& gpu) { return gpu.minor < 0; });
    demand(found.gpus.size() + found.findings.size() == 2 + static_cast<std::size_t>(without_node),
           "each GPU is found or left out, and one without a node is named");
}

void check_masks(const std::string& root)
{
    const auto parameters = base::read_file(root + "/proc/driver/nvidia/params");
    const auto masks = drivers::nvidia::masks(root, {}, {});
    demand(masks.has_value() && masks->size() <= 1, "parameters can be read");
    for (const model::Mask& mask : *masks) {
        demand(parameters && mask.content.size() == parameters->size(), "a mask hides nothing");
        const auto differing = std::mismatch(mask.content.begin(), mask.content.end(),
                                             parameters->begin(), parameters->end());
        demand(*differing.first == '0' && *differing.second == '1', "it says no for yes");
    }
}

} // namespace

/// What the drivers' kernel modules write.
void run(std::string_view input)
{
    static const Kernel kernel;
    kernel.set(input);
    const std::string root = kernel.root();
    const auto version = drivers::nvidia::module_version(root);
    demand(!version || !*version
               || (*version)->find_first_not_of("0123456789.") == std::string::npos,
           "a version is digits and dots");
    test::FakeEnumerator pci;
    const auto gpus = drivers::nvidia::driven_gpus(root, pci);
    demand(gpus.has_value(), "a directory of GPUs can be read");
    check_gpus(*gpus);
    model::Findings skipped;
    const auto nodes =
        drivers::nvidia::device_nodes(root, "", gpus->gpus, pci, gpus->rights, skipped);
    demand(nodes.has_value() && nodes->nodes.empty(), "there is no node");
    (void)drivers::nvidia::warnings(gpus->gpus, nodes->nodes);
    check_masks(root);
}

} // namespace gpucontainer::fuzz

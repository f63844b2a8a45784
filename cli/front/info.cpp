// SPDX-License-Identifier: MIT
#include "front/session.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace gpuctr_cli {
namespace {

using gpucontainer::Driver;
using gpucontainer::Gpu;

/// What NVIDIA's library calls brands that requirements name in small letters.
constexpr std::array brand_names = {
    std::pair{"quadro", "Quadro"},
    std::pair{"tesla", "Tesla"},
    std::pair{"nvs", "NVS"},
    std::pair{"grid", "GRID"},
    std::pair{"geforce", "GeForce"},
    std::pair{"titan", "TITAN"},
    std::pair{"vapps", "VApps"},
    std::pair{"vpc", "VPC"},
    std::pair{"vcs", "VCS"},
    std::pair{"vws", "VWS"},
    std::pair{"cloudgaming", "CloudGaming"},
    std::pair{"quadrortx", "QuadroRTX"},
    std::pair{"nvidiartx", "NvidiaRTX"},
    std::pair{"nvidia", "Nvidia"},
    std::pair{"geforcertx", "GeForceRTX"},
    std::pair{"titanrtx", "TitanRTX"},
};

/// Of several, the one that comes first; drivers that begin the model with NVIDIA's name have a
/// newer one for its RTX cards.
std::string brand_of(std::string_view words, std::string_view model)
{
    constexpr std::string_view newer = "nvidiartx";
    std::string_view word = words.substr(0, words.find(','));
    if (model.starts_with("NVIDIA RTX") && words.ends_with(newer))
        word = newer;
    const auto* const found = std::find_if(brand_names.begin(), brand_names.end(),
                                           [&](const auto& brand) { return word == brand.first; });
    return found != brand_names.end() ? found->second : "Unknown";
}

/// "00000000:3B:00.0" for "0000:3b:00.0".
std::string bus_location(std::string_view address)
{
    constexpr std::size_t digits_of_domain = 8;
    std::string text(address);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const std::size_t domain = text.find(':');
    if (domain < digits_of_domain)
        text.insert(0, digits_of_domain - domain, '0');
    return text;
}

struct GpuInfo {
    std::size_t index;
    std::string minor;
    std::string model;
    std::string brand;
    std::string uuid;
    std::string location;
    std::string architecture;
};

GpuInfo info_of(const gpucontainer::Host& host, const Driver& driver, const Gpu& gpu,
                std::size_t index)
{
    const int number = static_cast<int>(gpu.index());
    const std::string vendor(driver.vendor());
    const auto minor = gpu.minor_number();
    return {index,
            minor ? std::to_string(*minor) : "",
            printable(gpu.model()),
            brand_of(host.fact(vendor, "brand", number), gpu.model()),
            printable(gpu.uuid()),
            bus_location(gpu.pci_address()),
            host.fact(vendor, "arch", number)};
}

void print_as_text(std::FILE* out, const GpuInfo& gpu)
{
    print(out,
          "\nDevice Index:   {}\nDevice Minor:   {}\nModel:          {}\nBrand:          {}\n"
          "GPU UUID:       {}\nBus Location:   {}\nArchitecture:   {}\n",
          gpu.index, gpu.minor, gpu.model, gpu.brand, gpu.uuid, gpu.location, gpu.architecture);
}

void print_as_values(std::FILE* out, const GpuInfo& gpu)
{
    print(out, "{},{},{},{},{},{},{}\n", gpu.index, gpu.minor, gpu.model, gpu.brand, gpu.uuid,
          gpu.location, gpu.architecture);
}

} // namespace

void front_info(FrontSession& session)
{
    session.settle_host();
    session.load_kernel_modules();
    shrink_privileges(GPUCTR_PHASE_LOOK);
    session.phase = FrontPhase::initialization;
    const gpucontainer::Host host = session.options.host.open();
    std::FILE* const out = session.streams.out;
    const bool csv = session.arguments.csv;
    for (const Driver driver : host.drivers()) {
        const std::string cuda = host.fact(std::string(driver.vendor()), "cuda");
        if (csv)
            print(out,
                  "NVRM version,CUDA version\n{},{}\n\nDevice Index,Device Minor,Model,Brand,"
                  "GPU UUID,Bus Location,Architecture\n",
                  driver.version(), cuda);
        else
            print(out, "NVRM version:   {}\nCUDA version:   {}\n", driver.version(), cuda);
        std::size_t index = 0;
        for (const Gpu gpu : driver.gpus())
            if (!gpu.parent())
                (csv ? print_as_values : print_as_text)(out, info_of(host, driver, gpu, index++));
    }
}

} // namespace gpuctr_cli

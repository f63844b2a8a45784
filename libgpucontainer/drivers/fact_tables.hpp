// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// The content of a maker's file facts.yaml. It becomes constant tables while the library is built.
struct FactTables {
    struct Release {
        std::string version; ///< First of its branch.
        std::string cuda;
        std::string least; ///< Lowest compute capability from here on; "": as before.
    };
    struct Chip {
        std::string name;
        std::uint16_t first = 0; ///< Numbers of PCI devices; 0 without any.
        std::uint16_t last = 0;
        std::string soc; ///< Instead: its name in the device tree.
        std::string arch;
    };
    struct Brand {
        std::string model; ///< Beginning of a model's name.
        std::vector<std::string> brands;
    };
    struct BrandNumber {
        unsigned number = 0;
        std::string brand;
        bool compat = false; ///< A newer user space that names no brands supports it.
    };
    struct CompatRelease {
        std::string version;              ///< First branch of a newer user space.
        std::vector<std::string> drivers; ///< Branches of the kernel module that it supports.
    };
    struct Major {
        std::string cuda;
        std::string driver; ///< First one that runs all programs of this major release.
    };
    struct Framework {
        std::string package;
        std::string version; ///< First one.
        std::string cuda;
    };

    std::string vendor;
    std::vector<Release> releases;
    std::vector<Release> platform_releases; ///< Without `least`.
    std::vector<Chip> chips;
    std::vector<Brand> brands;
    std::vector<BrandNumber> brand_numbers;
    std::vector<CompatRelease> compat_releases;
    std::vector<Major> cuda_majors;
    std::vector<Framework> frameworks;
};

/// Reads the file. Fails on the first mistake, with its line: an unknown or missing key; a text
/// that is not of its form; releases that do not ascend; numbers of devices that two chips have,
/// or that do not ascend; a row of brands that an earlier one hides; numbers of brands, compat
/// releases, major releases or versions of a framework that do not ascend.
Result<FactTables> parse_fact_tables(std::string_view yaml);

} // namespace gpucontainer::drivers

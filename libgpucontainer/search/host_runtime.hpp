// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What programs of a driver root run with: its C library, and the libraries of its compiler.
namespace gpucontainer::search {

/// A library of the host that could take the place of an image's.
struct RuntimeFile {
    std::string soname; ///< As programs need it. Of the loader: "ld-linux-x86-64.so.2".
    std::string path;   ///< Of the real file, on this host.
    model::FileId id;
    std::vector<std::string> versions;     ///< Those that it has.
    std::vector<model::VersionNeed> needs; ///< The newest of each kind.
};

/// The C library of a driver root: the files of one build, which fit each other and no others.
struct HostCLibrary {
    std::vector<RuntimeFile> files; ///< The loader is first.
    std::string release;            ///< "Debian GLIBC 2.36-9+deb12u10"; "" if it does not tell.
    std::string home;               ///< Their directory, in the driver root.
    std::string gconv;              ///< Its directory of character sets; "" if there is none.
    model::FileId gconv_id;
    std::string problem; ///< Why it cannot be taken as a whole; "" if it can.

    /// Null if it has none.
    const RuntimeFile* find(std::string_view soname) const;
};

struct HostRuntime {
    HostCLibrary c_library;
    std::vector<RuntimeFile> compiler; ///< libstdc++ and libgcc_s, if they are there.
    /// What files of the driver need whose record does not tell, by their paths.
    std::map<std::string, std::vector<model::VersionNeed>> needs;

    const std::vector<model::VersionNeed>& needs_of(const model::DriverFile& file) const;
};

/// A part of the C library, as the loader looks for it.
struct CLibraryPart {
    enum class Kind : std::uint8_t {
        core,    ///< Each release has it, on all machines.
        linked,  ///< Some releases, machines or packages have it; programs are linked to it.
        by_name, ///< The same; the C library or a debugger loads it by its name.
    };
    std::string_view soname;
    Kind kind = Kind::core;
};

/// All but the loader.
std::span<const CLibraryPart> parts_of_c_library();

inline constexpr std::string_view standard_library = "libstdc++.so.6";
/// Of the compiler, which are released together but fit programs of older ones.
bool is_of_compiler(std::string_view soname);

/// Looks at the driver root of the drivers, which all have the same. Errors: driver, if it cannot
/// be read.
Result<HostRuntime> find_host_runtime(std::span<const model::DriverStack> drivers);

} // namespace gpucontainer::search

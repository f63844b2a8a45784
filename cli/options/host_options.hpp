// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>

#include <string>
#include <vector>

namespace gpuctr_cli {

/// Which drivers, and where from: for all commands that look at the host.
struct HostOptions {
    std::vector<std::string> vendors; ///< As in gpucontainer::HostOptions.
    bool if_present = false;          ///< A missing GPU is a warning.
    std::string driver_root = "/";
    std::string driver_version;
    std::string dev_root = "/";
    std::string mig_map; ///< Empty: the usual one, if it is there.
    std::vector<std::string> catalogues;
    std::string record; ///< File with a recorded host; empty: this host.

    void add_to(CLI::App& command);
    /// Only where things are, for a command that is about all vendors.
    void add_places_to(CLI::App& command);
    /// For commands that only show.
    void add_record_to(CLI::App& command);
    /// The same for a command that takes several, into `paths`.
    static void add_records_to(CLI::App& command, std::vector<std::string>& paths);
    /// `files_alone`: a driver needs no GPU. For commands that only show.
    gpucontainer::Host open(bool files_alone = false) const;
    /// For showing all that is there: a driver needs no GPU, and a GPU no driver.
    gpucontainer::Host open_to_list() const;
    /// How to look at this host.
    gpucontainer::HostOptions options() const;

private:
    gpucontainer::Host open(bool files_alone, bool whole_bus) const;
};

} // namespace gpuctr_cli

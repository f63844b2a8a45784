// SPDX-License-Identifier: MIT
#include "linking/known_places.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <fnmatch.h>

namespace gpucontainer::linking {
namespace {

constexpr std::size_t most_places = 256;
constexpr std::size_t most_configurations = 128;
constexpr std::size_t most_names = 1024;
constexpr std::size_t largest_configuration = std::size_t{64} << 10U;
constexpr int most_stars = 4; // more take long to compare
constexpr const char* configuration = "/etc/ld.so.conf";

/// Reads ldconfig's configuration.
class Configuration {
public:
    explicit Configuration(const rootfs::View& view) : view_(view) {}

    std::vector<std::string> read()
    {
        open_.emplace_back(configuration);
        while (!open_.empty() && read_ < most_configurations) {
            const std::string file = std::move(open_.front());
            open_.erase(open_.begin());
            ++read_;
            if (const auto text = view_.read(file, largest_configuration))
                for (const std::string_view line : base::split(*text, '\n'))
                    read_line(base::trim(line.substr(0, line.find('#'))), file);
        }
        return std::move(directories_);
    }

private:
    void read_line(std::string_view line, const std::string& file)
    {
        constexpr std::string_view word = "include";
        if (line.starts_with(word) && line.size() > word.size()
            && (line[word.size()] == ' ' || line[word.size()] == '\t'))
            include(std::string(base::trim(line.substr(word.size()))), file);
        else if (line.starts_with('/') && directories_.size() < most_places)
            directories_.emplace_back(line);
    }

    /// The pattern is one of names in a directory.
    void include(std::string pattern, const std::string& file)
    {
        if (!pattern.starts_with('/'))
            pattern.insert(0, std::string(base::directory_of(file)) + "/");
        const std::string directory(base::directory_of(pattern));
        const std::string names(base::name_of(pattern));
        const auto listed = view_.list(directory, most_names);
        if (!listed || std::ranges::count(names, '*') > most_stars)
            return;
        for (const std::string& name : *listed)
            if (::fnmatch(names.c_str(), name.c_str(), FNM_PERIOD) == 0
                && open_.size() < most_configurations)
                open_.push_back(directory + "/" + name);
    }

    const rootfs::View& view_;
    std::vector<std::string> open_;
    std::vector<std::string> directories_;
    std::size_t read_ = 0;
};

} // namespace

std::vector<std::string> known_places(const rootfs::View& view)
{
    std::vector<std::string> places = Configuration(view).read();
    constexpr std::array<const char*, 9> usual = {
        "/usr/local/lib", "/usr/local/lib64", "/usr/lib64",     "/usr/lib",        "/lib64",
        "/lib",           "/opt/lib",         "/opt/conda/lib", "/usr/lib/wsl/lib"};
    places.insert(places.end(), usual.begin(), usual.end());
    return places;
}

} // namespace gpucontainer::linking

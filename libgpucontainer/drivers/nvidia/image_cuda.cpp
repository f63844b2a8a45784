// SPDX-License-Identifier: MIT
#include "drivers/nvidia/image_cuda.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/toolkit.hpp"
#include "drivers/python_packages.hpp"
#include "requirement/expression.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpucontainer::drivers::nvidia {
namespace {

constexpr std::string_view cuda_home = "/usr/local/cuda";
constexpr std::string_view runtime_stem = "libcudart";
constexpr std::size_t largest_text = 64U << 10U;
constexpr std::size_t most_file_names = 20'000;
constexpr std::size_t longest_shown_version = 64;
constexpr int most_file_links = 8;

/// As NVIDIA's images set it.
constexpr const char* version_variable = "CUDA_VERSION";

/// "12.4" of "12.4.131": the digits and dots at the beginning, at most two numbers.
std::string short_version(std::string_view text)
{
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
    std::size_t end = digits.find('.');
    if (end != std::string_view::npos)
        end = digits.find('.', end + 1);
    std::string_view version = digits.substr(0, end);
    if (version.ends_with('.'))
        version.remove_suffix(1);
    return requirement::is_version(version) ? std::string(version) : "";
}

/// "13.0" of "130", as packages of Python have it: the last digit is the minor number.
std::string version_of_tag(std::string_view text)
{
    constexpr std::size_t longest_tag = 4;
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
    if (digits.size() < 2 || digits.size() > longest_tag)
        return "";
    return base::format("{}.{}", digits.substr(0, digits.size() - 1), digits.back());
}

/// Whether a version can be shown.
bool is_plain_version(std::string_view text)
{
    return !text.empty() && text.size() <= longest_shown_version
           && std::ranges::all_of(text, [](char c) {
                  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                         || c == '.' || c == '+' || c == '_';
              });
}

/// The text between the first quotes of a line of Python.
std::string_view quoted_in(std::string_view line)
{
    const auto start = line.find_first_of("'\"");
    if (start == std::string_view::npos)
        return {};
    const auto end = line.find(line[start], start + 1);
    return end == std::string_view::npos ? std::string_view()
                                         : line.substr(start + 1, end - start - 1);
}

/// The quoted value that a line of Python gives a variable; none if no line does.
std::optional<std::string_view> assigned(std::string_view text, std::string_view variable)
{
    for (const std::string_view line : base::split(text, '\n')) {
        if (!line.starts_with(variable))
            continue;
        const std::string_view rest = line.substr(variable.size());
        if (rest.starts_with(' ') || rest.starts_with(':') || rest.starts_with('='))
            if (const auto equals = rest.find('='); equals != std::string_view::npos)
                return quoted_in(rest.substr(equals));
    }
    return std::nullopt;
}

/// "12.4.127" of "libcudart.so.12.4.127", or of "libcudart-9335f6a2.so.12.4.127", which packages
/// of Python have; "" for other names.
std::string_view runtime_version(std::string_view path)
{
    constexpr std::string_view mark = ".so.";
    const std::string_view name = base::name_of(path);
    const auto so = name.find(mark);
    if (!name.starts_with(runtime_stem) || so == std::string_view::npos)
        return {};
    const std::string_view between = name.substr(runtime_stem.size(), so - runtime_stem.size());
    if (!between.empty() && !between.starts_with('-'))
        return {};
    const std::string_view version = name.substr(so + mark.size());
    return requirement::is_version(version) ? version : std::string_view();
}

/// Looks at each place that tells.
class Finder {
public:
    explicit Finder(const ContainerToCheck& container) : container_(container) {}

    std::vector<CudaUse> run()
    {
        look_at_toolkit();
        look_at_runtime();
        for (const PackageDirectory& directory : package_directories(container_))
            look_at_packages(directory);
        for (const std::string& prefix : program_prefixes(container_))
            look_at_conda(prefix + "/conda-meta");
        return std::move(uses_);
    }

private:
    void add(std::string what, std::string version, std::string evidence, bool is_loaded = false)
    {
        if (!version.empty())
            uses_.push_back({std::move(what), std::move(version), std::move(evidence), is_loaded});
    }

    std::string read(const std::string& path) const
    {
        auto text = container_.view.read(path, largest_text);
        return text ? *std::move(text) : "";
    }

    void add_toolkit(std::string_view version, std::string evidence)
    {
        if (const std::string known = short_version(version); !known.empty())
            add(base::format("CUDA {}",
                             requirement::is_version(version) ? std::string(version) : known),
                known, std::move(evidence));
    }

    void look_at_toolkit()
    {
        const std::size_t before = uses_.size();
        const std::string home(cuda_home);
        if (const std::string json = read(home + "/version.json"); !json.empty())
            add_toolkit(cuda_of_version_file(json), home + "/version.json");
        constexpr std::string_view mark = "CUDA Version ";
        if (const std::string text = read(home + "/version.txt"); text.starts_with(mark))
            add_toolkit(base::trim(text.substr(mark.size())), home + "/version.txt");
        const auto set = container_.environment.find(version_variable);
        if (set != container_.environment.end())
            add_toolkit(set->second, version_variable);
        if (uses_.size() == before)
            look_at_home(home + "/lib64");
    }

    /// Images with the run-time libraries alone have no file that tells.
    void look_at_home(const std::string& directory)
    {
        const auto names = container_.view.list(directory, most_file_names);
        std::string newest;
        std::string path;
        for (const std::string& name : names ? *names : std::vector<std::string>())
            if (const auto version = runtime_version(name);
                !version.empty()
                && (newest.empty() || std::is_lt(requirement::compare(newest, version)))) {
                newest = version;
                path = base::format("{}/{}", directory, name);
            }
        add_toolkit(newest, std::move(path));
    }

    /// The version of a library is in the name of its file, to which others are links.
    std::string version_of_file(std::string path) const
    {
        std::string version(runtime_version(path));
        for (int i = 0; i < most_file_links; ++i) {
            const std::string target = container_.view.link_target(path);
            if (target.empty())
                break;
            path = target.starts_with('/')
                       ? target
                       : base::format("{}/{}", base::directory_of(path), target);
            if (const auto more = runtime_version(path); more.size() > version.size())
                version = more;
        }
        return version;
    }

    /// What the program is linked to. The toolkit is then what it uses, if they are of one release.
    void look_at_runtime()
    {
        for (const std::string& path : container_.loaded) {
            const std::string version = version_of_file(path);
            if (version.empty())
                continue;
            const auto major = std::string_view(version).substr(0, version.find('.'));
            for (CudaUse& use : uses_)
                use.is_loaded =
                    use.is_loaded
                    || std::string_view(use.version).substr(0, use.version.find('.')) == major;
            add(base::format("CUDA {}", version), short_version(version), path, true);
        }
    }

    void look_at_packages(const PackageDirectory& directory)
    {
        const auto has = [&](std::string_view name) {
            return std::ranges::binary_search(directory.names, name, std::ranges::less());
        };
        if (has("torch"))
            look_at_torch(directory);
        if (has("tensorflow"))
            look_at_tensorflow(directory);
        for (const std::string& name : directory.names)
            look_at_package(directory.path, name);
    }

    void look_at_torch(const PackageDirectory& directory)
    {
        const std::string package = directory.path + "/torch";
        const std::string path = package + "/version.py";
        const bool is_loaded = loads_from(container_, package);
        const std::string text = read(path);
        if (text.empty())
            return add_framework(directory, "torch", "PyTorch", is_loaded);
        const std::string_view own = assigned(text, "__version__").value_or("");
        add(is_plain_version(own) ? base::format("PyTorch {}", own) : "PyTorch",
            cuda_of_torch(text), path, is_loaded);
    }

    void look_at_tensorflow(const PackageDirectory& directory)
    {
        const std::string package = directory.path + "/tensorflow";
        const std::string path = package + "/python/platform/build_info.py";
        const bool is_loaded = loads_from(container_, package);
        const std::string text = read(path);
        if (text.empty())
            return add_framework(directory, "tensorflow", "TensorFlow", is_loaded);
        const std::string_view own = version_among(directory.names, "tensorflow");
        add(own.empty() ? "TensorFlow" : base::format("TensorFlow {}", own),
            short_version(cuda_of_tensorflow(text)), path, is_loaded);
    }

    /// By its version alone, which a catalogue knows.
    void add_framework(const PackageDirectory& directory, std::string_view package,
                       std::string_view title, bool is_loaded)
    {
        const std::string_view own = version_among(directory.names, package);
        const std::string plain = short_version(own);
        std::string_view cuda;
        for (const Framework& one : frameworks())
            if (one.package == package && !plain.empty()
                && std::is_lteq(requirement::compare(one.version, plain)))
                cuda = one.cuda;
        const auto tag = own.find('+'); // what is built for another CUDA, or none, says so
        if (tag != std::string_view::npos)
            return;
        add(base::format("{} {}", title, own), std::string(cuda),
            base::format("{}/{}-{}.dist-info", directory.path, package, own), is_loaded);
    }

    static std::string_view version_among(const std::vector<std::string>& names,
                                          std::string_view package)
    {
        for (const std::string& name : names)
            if (const auto version = installed_version(name, package); is_plain_version(version))
                return version;
        return {};
    }

    /// Packages that have the CUDA for which they are in their names.
    void look_at_package(const std::string& directory, std::string_view name)
    {
        struct Named {
            std::string_view stem;
            std::string_view title;
        };
        constexpr std::array named = {Named{"jax_cuda", "JAX"}, Named{"cupy_cuda", "CuPy"}};
        constexpr std::string_view runtime = "nvidia_cuda_runtime";
        constexpr std::string_view ending = ".dist-info";
        if (!name.ends_with(ending))
            return;
        const std::string path = base::format("{}/{}", directory, name);
        for (const Named& one : named)
            if (name.starts_with(one.stem))
                add(std::string(one.title), major_in(name.substr(one.stem.size())), path);
        if (name.starts_with(runtime))
            if (const auto dash = name.find('-'); dash != std::string_view::npos)
                add("Python's package of CUDA's run-time library",
                    short_version(name.substr(dash + 1)), path,
                    loads_from(container_, directory + "/nvidia"));
    }

    /// "12" of "12_plugin-0.4.35.dist-info", and of "12x-13.3.0.dist-info"; "11.1" of "111-9.0".
    static std::string major_in(std::string_view text)
    {
        const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
        return digits.size() > 2 ? version_of_tag(digits) : short_version(digits);
    }

    /// Conda has a file for each package, "NAME-VERSION-BUILD.json".
    void look_at_conda(const std::string& directory)
    {
        constexpr std::array<std::string_view, 3> packages = {"cuda-version-", "cuda-cudart-",
                                                              "cudatoolkit-"};
        constexpr std::string_view torch = "pytorch-";
        constexpr std::string_view tag = "_cuda";
        const auto names = container_.view.list(directory, most_file_names);
        for (const std::string& name : names ? *names : std::vector<std::string>()) {
            const std::string path = base::format("{}/{}", directory, name);
            for (const std::string_view package : packages)
                if (name.starts_with(package))
                    add("Conda's CUDA",
                        short_version(std::string_view(name).substr(package.size())), path);
            const auto build = name.find(tag);
            if (name.starts_with(torch) && build != std::string::npos)
                add("Conda's PyTorch",
                    short_version(std::string_view(name).substr(build + tag.size())), path);
        }
    }

    const ContainerToCheck& container_;
    std::vector<CudaUse> uses_;
};

} // namespace

std::vector<CudaUse> cuda_uses(const ContainerToCheck& container)
{
    return Finder(container).run();
}

std::string cuda_of_torch(std::string_view text)
{
    if (const auto cuda = assigned(text, "cuda"))
        return short_version(*cuda);
    constexpr std::string_view tag = "+cu";
    const std::string_view own = assigned(text, "__version__").value_or("");
    const auto found = own.find(tag);
    return found == std::string_view::npos ? "" : version_of_tag(own.substr(found + tag.size()));
}

std::string cuda_of_tensorflow(std::string_view text)
{
    constexpr std::string_view key = "cuda_version";
    constexpr std::size_t most_between = 16; // "': '", or "_number = '"
    const auto found = text.find(key);
    if (found == std::string_view::npos)
        return "";
    const std::string_view rest = text.substr(found + key.size());
    const auto digit = rest.find_first_of("0123456789\n");
    if (digit == std::string_view::npos || digit > most_between || rest[digit] == '\n')
        return "";
    const std::string_view value = rest.substr(digit);
    const std::string_view version = value.substr(0, value.find_first_not_of("0123456789."));
    return requirement::is_version(version) ? std::string(version) : "";
}

} // namespace gpucontainer::drivers::nvidia

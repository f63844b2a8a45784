// SPDX-License-Identifier: MIT
#include "linking/loader.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpucontainer::linking {
namespace {

constexpr std::size_t largest_loader = std::size_t{4} << 20U; // glibc's have 200 to 300 KiB
constexpr std::size_t largest_path_file = std::size_t{64} << 10U;
constexpr std::size_t longest_text = 512;
constexpr std::size_t most_default_directories = 32;
constexpr std::string_view cache_name = "/ld.so.cache";
constexpr std::string_view level_directory = "glibc-hwcaps";
constexpr std::string_view musl_prefix = "ld-musl-";

bool is_plain(char c) { return c > ' ' && c < '\x7f'; }

/// The path that ends at a position of a loader's bytes; "" if none does.
std::string_view path_ending_at(std::string_view bytes, std::size_t end)
{
    std::size_t start = end;
    while (start > 0 && end - start < longest_text && is_plain(bytes[start - 1]))
        --start;
    const std::string_view text = bytes.substr(start, end - start);
    return text.starts_with('/') ? text : std::string_view();
}

/// Where its cache is, as glibc's loader has it; "" if it does not tell.
std::string cache_path_in(std::string_view bytes)
{
    const std::size_t at = bytes.find(std::string(cache_name) + '\0');
    if (at == std::string_view::npos)
        return "";
    return std::string(path_ending_at(bytes, at + cache_name.size()));
}

/// The default directories, which glibc's loader has one after the other, each with a slash at its
/// end; none if it does not tell.
std::vector<std::string> directories_in(std::string_view bytes)
{
    constexpr std::size_t shortest = 5; // "/lib/"
    constexpr std::string_view end("/\0", 2);
    std::vector<std::string> found;
    std::size_t expected = 0;
    for (std::size_t at = 0; (at = bytes.find(end, at)) != std::string_view::npos; ++at) {
        const std::string_view path = path_ending_at(bytes, at + 1);
        if (path.size() < shortest || path.find("lib") == std::string_view::npos)
            continue;
        const std::size_t start = at + 1 - path.size();
        if ((!found.empty() && start != expected) || found.size() == most_default_directories)
            break;
        found.emplace_back(path.substr(0, path.size() - 1));
        expected = at + end.size();
    }
    return found;
}

bool is_usual_place(std::string_view path)
{
    return path.starts_with("/lib") || path.starts_with("/usr/lib");
}

/// Those of the distributions, which build their loaders differently.
std::vector<std::string> usual_directories(const elf::Machine* machine, bool is_64_bit)
{
    std::vector<std::string> all;
    if (machine != nullptr)
        all = {base::format("/lib/{}", machine->multiarch),
               base::format("/usr/lib/{}", machine->multiarch)};
    const char* const bits = is_64_bit ? "64" : "32";
    for (const char* above : {"", "/usr"})
        all.push_back(base::format("{}/lib{}", above, bits));
    for (const char* directory : {"/lib", "/usr/lib"})
        all.emplace_back(directory);
    return all;
}

Rules rules_of(std::string_view name, std::string_view bytes)
{
    if (name.starts_with(musl_prefix) || bytes.find("/etc/ld-musl-") != std::string_view::npos)
        return Rules::musl;
    constexpr std::array<std::string_view, 4> glibc = {"ld-linux", "ld64.so", "ld.so.", "ld-2."};
    if (bytes.find("GLIBC_PRIVATE") != std::string_view::npos
        || std::ranges::any_of(glibc,
                               [&](std::string_view start) { return name.starts_with(start); }))
        return Rules::glibc;
    return Rules::unknown;
}

std::string read_loader(Files& files, const std::string& path)
{
    auto bytes = files.view().read(path, largest_loader);
    return bytes ? *std::move(bytes) : std::string();
}

/// "/nix/store/X" of "/nix/store/X/lib/ld-linux-x86-64.so.2"; "" for the usual places.
std::string prefix_of(const std::string& path)
{
    return is_usual_place(path) ? "" : std::string(base::directory_of(base::directory_of(path)));
}

void read_cache(Files& files, Loader& loader)
{
    // Guix's loaders look for one beside the program instead, which has nothing that the
    // programs' RUNPATH does not have.
    if (loader.path.starts_with("/gnu/store/"))
        loader.cache_path.clear();
    if (loader.cache_path.empty())
        return;
    const auto content = files.view().read(loader.cache_path, elf::max_cache_size);
    auto cache = elf::LdCache::parse(content ? *content : std::string());
    if (cache)
        loader.cache = std::make_shared<const elf::LdCache>(*std::move(cache));
}

void add_glibc(Files& files, std::string_view bytes, std::span<const std::string> levels,
               Loader& loader)
{
    const bool is_64_bit = loader.facts.elf_class == elf::Facts::Class::elf64;
    const std::string prefix = prefix_of(loader.path);
    loader.directories = directories_in(bytes);
    if (loader.directories.empty())
        loader.directories = prefix.empty()
                                 ? usual_directories(loader.machine, is_64_bit)
                                 : std::vector{std::string(base::directory_of(loader.path))};
    loader.cache_path = cache_path_in(bytes);
    if (loader.cache_path.empty())
        loader.cache_path = prefix + "/etc/ld.so.cache";
    if (loader.machine != nullptr) {
        const std::string multiarch = base::format("lib/{}", loader.machine->multiarch);
        const bool has_multiarch =
            std::ranges::find(loader.directories, "/" + multiarch) != loader.directories.end();
        const bool is_known = !bytes.empty();
        if (has_multiarch || !is_known)
            loader.library_words.push_back(multiarch);
        if (!has_multiarch || !is_known)
            loader.library_words.emplace_back(is_64_bit ? "lib64" : "lib");
    } else {
        loader.library_words = {"lib64", "lib"};
    }
    if (bytes.find(level_directory) != std::string_view::npos
        && loader.machine == &elf::own_machine())
        for (const std::string& level : levels)
            loader.levels.push_back(base::format("{}/{}", level_directory, level));
    read_cache(files, loader);
}

/// "x86_64" of "/lib/ld-musl-x86_64.so.1".
std::string_view musl_machine(std::string_view name)
{
    name.remove_prefix(std::min(name.find(musl_prefix) + musl_prefix.size(), name.size()));
    return name.substr(0, name.find('.'));
}

void add_musl(Files& files, const std::string& name, Loader& loader)
{
    const std::string prefix = prefix_of(loader.path);
    const std::string path = base::format("{}/etc/ld-musl-{}.path", prefix, musl_machine(name));
    const auto text = files.view().read(path, largest_path_file);
    if (!text) {
        loader.directories = {"/lib", "/usr/local/lib", "/usr/lib"};
        return;
    }
    std::string lines = *text;
    std::ranges::replace(lines, '\n', ':');
    for (const std::string_view directory : base::split(lines, ':'))
        if (directory.starts_with('/') && loader.directories.size() < most_default_directories)
            loader.directories.emplace_back(directory);
}

} // namespace

const elf::Machine* machine_of(const elf::Facts& facts)
{
    for (const elf::Machine& machine : elf::machines)
        if (elf::is_for(facts, machine))
            return &machine;
    for (const elf::Machine* machine : {&elf::i386, &elf::armhf})
        if (elf::is_for(facts, *machine))
            return machine;
    return nullptr;
}

std::optional<Loader> find_loader(Files& files, const std::string& path, const elf::Facts& program,
                                  std::span<const std::string> levels)
{
    const auto real = rootfs::real_path(files.view(), path);
    if (!real || files.view().look(*real).type != rootfs::EntryType::regular)
        return std::nullopt;
    Loader loader;
    loader.path = path;
    loader.facts.elf_class = program.elf_class;
    loader.facts.byte_order = program.byte_order;
    loader.facts.machine = program.machine;
    loader.machine = machine_of(program);
    const std::string bytes = read_loader(files, *real);
    std::string name(base::name_of(path));
    loader.rules = rules_of(name, bytes);
    if (loader.rules == Rules::musl && !name.starts_with(musl_prefix))
        name = base::name_of(*real);
    if (loader.rules == Rules::glibc)
        add_glibc(files, bytes, levels, loader);
    if (loader.rules == Rules::musl)
        add_musl(files, name, loader);
    return loader;
}

} // namespace gpucontainer::linking

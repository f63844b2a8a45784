// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"
#include "simhost/archive.hpp"
#include "simhost/file_trees.hpp"
#include "simhost/recording.hpp"
#include "simhost/stranger.hpp"
#include "simhost/stranger_libraries.hpp"
#include "simhost/sys_tree.hpp"
#include "simhost/tree.hpp"
#include "simhost/write_recording.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

using namespace simhost;

/// Members as a text: "== NAME" before each.
Members members_in(std::string_view input)
{
    constexpr std::string_view mark = "== ";
    Members members;
    std::string* content = nullptr;
    while (!input.empty()) {
        const std::string_view line = input.substr(0, input.find('\n'));
        const bool has_end = line.size() < input.size();
        if (line.starts_with(mark) && is_plain_path("/" + std::string(line.substr(mark.size()))))
            content = &members[std::string(line.substr(mark.size()))];
        else if (content != nullptr)
            content->append(line).append(has_end ? "\n" : "");
        input.remove_prefix(line.size() + (has_end ? 1 : 0));
    }
    return members;
}

void check_files(const Recording& host)
{
    for (const RecordedFile& file : host.files) {
        demand(is_plain_path(file.path), "a path is plain");
        demand((file.mode & ~0777U) == 0, "nothing has a setuid bit");
        demand(file.soname.empty() || is_soname(file.soname), "a library's name is one");
        demand(std::ranges::all_of(file.needed, is_soname), "needed libraries have names of one");
    }
    constexpr std::size_t longest_line = 81;
    for (const auto& [path, content] : host.contents) {
        demand(!content.starts_with("\177ELF"), "no content is a library");
        demand(!content.starts_with("#!") || content.size() <= longest_line,
               "no content is a script");
    }
}

void check_nodes(const Recording& host)
{
    constexpr unsigned last_of_memory_and_misc = 10;
    for (const DeviceNode& node : host.nodes) {
        demand(node.path.starts_with("/dev/"), "nodes are below /dev");
        demand(node.kind != NodeKind::block, "no node is a block device");
        demand((node.mode & ~0777U) == 0, "no node has a setuid bit");
        demand(node.kind == NodeKind::link || node.major > last_of_memory_and_misc,
               "no node is one of the machine's memory");
    }
}

/// What is laid lies in its tree alone.
void check_trees(const Recording& host)
{
    static const Scratch scratch({"outside"}, {"outside/victim"});
    const auto tree_path = scratch.path() / "tree";
    for (const bool is_sys : {false, true}) {
        std::filesystem::remove_all(tree_path);
        std::filesystem::create_directory(tree_path);
        Tree tree(base::UniqueFd(::open(tree_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
        if (!is_sys)
            (void)lay_files(host, tree);
        else if (lay_sys_tree(host, tree))
            (void)lay_device_directories(host, tree);
    }
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path()))
        if (const auto name = entry.path().lexically_relative(scratch.path()).string();
            !name.starts_with("tree"))
            names.push_back(name);
    std::ranges::sort(names);
    demand(names == std::vector<std::string>{"outside", "outside/victim"}, "nothing lies outside");
}

Recording restricted(Recording host)
{
    std::vector<std::string> left_out;
    restrict_stranger(host, left_out);
    return host;
}

} // namespace

/// A whole report, as a text or as an archive, of which a folder is made.
void run(std::string_view input)
{
    auto archived = read_archive(input);
    auto read = read_members(archived ? *std::move(archived) : members_in(input), "report");
    if (!read)
        return;
    const Recording host = restricted(*std::move(read));
    check_files(host);
    check_nodes(host);
    check_trees(host);

    auto imported = members_of(host);
    auto again = read_members(imported, "folder");
    demand(again.has_value(), "what is imported can be read");
    auto twice = members_of(restricted(*std::move(again)));
    for (Members* members : {&imported, &twice})
        members->erase("ld.so.cache"); // its strings are packed anew
    demand(imported == twice, "what is imported passes the checks as it is");
}

} // namespace gpucontainer::fuzz

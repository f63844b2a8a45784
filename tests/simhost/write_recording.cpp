// SPDX-License-Identifier: MIT
#include "write_recording.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "tree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

constexpr std::string_view columns =
    "#path\tkind\tmode\tsize\ttarget\tclass\tmachine\tsoname\tneeded\tverneed\trunpath\trpath\t"
    "interpreter\tverdef\n";

bool has_control(std::string_view text) { return std::ranges::any_of(text, base::is_control); }

std::string octal(mode_t mode)
{
    std::array<char, 8> digits = {};
    (void)std::snprintf(digits.data(), digits.size(), "%04o", mode & 07777U);
    return digits.data();
}

std::string row_of(const RecordedFile& file)
{
    const std::array<std::string, 14> fields = {file.path,
                                                file.is_link ? "l" : "f",
                                                octal(file.mode),
                                                std::to_string(file.size),
                                                file.target,
                                                file.elf_class,
                                                file.machine,
                                                file.soname,
                                                base::joined(file.needed, ","),
                                                base::joined(file.versions, ","),
                                                file.runpath,
                                                file.rpath,
                                                file.interpreter,
                                                base::joined(file.definitions, ",")};
    return base::joined(fields, "\t") + "\n";
}

std::string line_of(const DeviceNode& node)
{
    if (node.kind == NodeKind::link)
        return base::format("{} l - {} {} {} -> {}\n", node.path, octal(node.mode), node.uid,
                            node.gid, node.target);
    return base::format("{} {} {}:{} {} {} {}\n", node.path,
                        node.kind == NodeKind::character ? "c" : "b", node.major, node.minor,
                        octal(node.mode), node.uid, node.gid);
}

std::string hexadecimal(std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte / digits.size()];
        text += digits[byte % digits.size()];
    }
    return text;
}

/// A line of an attribute: as text, if it is one.
std::string line_of(const NamedText& attribute)
{
    std::string text;
    for (const char c : attribute.text) {
        if (c == '\n')
            text += "\\n";
        else if (c == '\t')
            text += "\\t";
        else if (base::is_control(c))
            return base::format("H: {}={}\n", attribute.name, hexadecimal(attribute.text));
        else
            text.append(c == '\\' ? "\\\\" : std::string_view(&c, 1));
    }
    return base::format("A: {}={}\n", attribute.name, text);
}

std::string text_of(const SysDevice& device)
{
    std::string text = base::format("P: {}\n", device.path);
    for (const NamedText& property : device.properties)
        text += base::format("E: {}={}\n", property.name, property.text);
    for (const NamedText& attribute : device.attributes)
        text += line_of(attribute);
    for (const NamedText& link : device.links)
        text += base::format("L: {}={}\n", link.name, link.text);
    return text + "\n";
}

std::string conf_of(const std::vector<TextFile>& files)
{
    std::string text;
    for (const TextFile& file : files)
        text += base::format("# {}\n{}\n", file.path, file.content);
    return text;
}

void add_if_any(Members& members, const char* name, std::string text)
{
    if (!text.empty())
        members.emplace(name, std::move(text));
}

/// The table, and texts of files that are in it.
void add_files(Members& members, const Recording& host)
{
    std::string files(columns);
    for (const RecordedFile& file : host.files) {
        if (has_control(file.path) || has_control(file.target))
            continue;
        files += row_of(file);
        if (const auto content = host.contents.find(file.path);
            content != host.contents.end() && !content->second.empty())
            members.emplace("content" + file.path, content->second);
    }
    members.emplace("files.tsv", std::move(files));
}

/// Has the folder at `path` only when it is whole.
class NewFolder {
public:
    explicit NewFolder(const std::string& path) : path_(path), made_(path + ".XXXXXX") {}
    NewFolder(const NewFolder&) = delete;
    NewFolder& operator=(const NewFolder&) = delete;
    ~NewFolder()
    {
        std::error_code ignored;
        if (is_made_)
            std::filesystem::remove_all(made_, ignored);
    }

    Result<Tree> make()
    {
        struct stat status = {};
        if (::lstat(path_.c_str(), &status) == 0)
            return Error::from_errno(EEXIST, path_);
        is_made_ = ::mkdtemp(made_.data()) != nullptr;
        base::UniqueFd fd(
            is_made_ ? ::open(made_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1);
        constexpr mode_t mode = 0755;
        if (!fd || ::fchmod(fd.get(), mode) != 0)
            return Error::from_errno(errno, base::format("make {}", made_));
        return Tree(std::move(fd));
    }

    Result<void> keep()
    {
        if (::renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0)
            return Error::from_errno(errno, path_);
        is_made_ = false;
        return {};
    }

private:
    std::string path_;
    std::string made_;
    bool is_made_ = false;
};

} // namespace

Members members_of(const Recording& host)
{
    Members members;
    add_files(members, host);
    std::string nodes;
    for (const DeviceNode& node : host.nodes)
        if (!has_control(node.path) && !has_control(node.target))
            nodes += line_of(node);
    add_if_any(members, "dev.txt", std::move(nodes));
    std::string devices;
    for (const SysDevice& device : host.devices)
        devices += text_of(device);
    add_if_any(members, "sys.umockdev", std::move(devices));
    add_if_any(members, "ld.so.conf.txt", conf_of(host.loader_conf));
    add_if_any(members, "ld.so.cache", host.loader_cache);
    for (const auto* tree : {&host.proc, &host.sys})
        for (const TextFile& file : *tree)
            if (!has_control(file.path))
                members.emplace(file.path.substr(1), file.content);
    return members;
}

Result<void> write_recording(const Recording& host, const std::string& path)
{
    NewFolder folder(path);
    GPUCTR_TRY(Tree tree, folder.make());
    for (const auto& [name, content] : members_of(host))
        GPUCTR_CHECK(tree.file(name, content), "{}", path);
    return folder.keep();
}

} // namespace gpucontainer::simhost

// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::simhost {

/// One line of files.tsv. Everything behind `target` is empty unless the file
/// is an ELF file.
struct RecordedFile {
    std::string path;
    bool is_link = false;
    mode_t mode = 0;
    std::uint64_t size = 0;
    std::string target;
    std::string elf_class;
    std::string machine;
    std::string soname;
    std::vector<std::string> needed;
    std::vector<std::string> versions; ///< Symbol versions that it needs.
    std::string runpath;
    std::string rpath;
    std::string interpreter;              ///< Of a program; empty: the usual one.
    std::vector<std::string> definitions; ///< Symbol versions that it has.
};

enum class NodeKind { character, block, link };

/// One line of dev.txt.
struct DeviceNode {
    std::string path;
    NodeKind kind = NodeKind::character;
    unsigned major = 0;
    unsigned minor = 0;
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    std::string target; ///< Of a link.
};

struct NamedText {
    std::string name;
    std::string text;
};

/// One device of sys.umockdev.
struct SysDevice {
    std::string path;                  ///< Below /sys: "/devices/pci0000:00/0000:00:06.0".
    std::vector<NamedText> properties; ///< What the kernel says in uevent, SUBSYSTEM too.
    std::vector<NamedText> attributes; ///< Files of the device's directory.
    std::vector<NamedText> links;

    /// Value of a property, empty when there is none.
    std::string_view property(std::string_view name) const;
};

/// A file by its absolute path.
struct TextFile {
    std::string path;
    std::string content;
};

/// A host as its folder describes it.
struct Recording {
    std::string directory; ///< Empty: it was an archive.
    std::vector<RecordedFile> files;
    std::vector<DeviceNode> nodes;
    std::vector<SysDevice> devices;
    std::vector<TextFile> loader_conf; ///< The parts of ld.so.conf.txt.
    std::string loader_cache;          ///< Empty when the host has none.
    std::vector<TextFile> proc;        ///< Paths begin with /proc/.
    std::vector<TextFile> sys;         ///< Paths begin with /sys/.
    /// Texts of `files` by their paths.
    std::map<std::string, std::string, std::less<>> contents;
};

/// The parsers. Messages of their errors begin with the line's number.
Result<std::vector<RecordedFile>> parse_files(std::string_view text);
Result<std::vector<DeviceNode>> parse_nodes(std::string_view text);
Result<std::vector<SysDevice>> parse_devices(std::string_view text);
Result<std::vector<TextFile>> parse_loader_conf(std::string_view text);

/// An error of such a line: "line 3: no number 'x'".
Error bad_line(std::size_t number, std::string_view what, std::string_view text);

/// Who wrote a recorded host.
enum class Author : unsigned char {
    trusted,  ///< Somebody who may do all that the caller can.
    stranger, ///< It may have anything in it. What could do harm is left out: see stranger.hpp.
};

/// Reads a whole folder, or an archive of one, as `gpuctr-setup report` writes it. Only files.tsv
/// must exist. A link in a folder is an error.
Result<Recording> read_recording(const std::string& path, Author author,
                                 std::vector<std::string>& left_out);

/// An absolute path whose components are names, none of them "." or "..".
bool is_plain_path(std::string_view path);

/// One component of such a path.
bool is_plain_name(std::string_view name);

/// Where a link at `path` leads by its text alone, "." and ".." taken out; nothing if that is above
/// the root directory.
std::optional<std::string> target_of_link(std::string_view path, std::string_view target);

} // namespace gpucontainer::simhost

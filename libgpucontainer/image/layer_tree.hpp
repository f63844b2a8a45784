// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"
#include "image/file_window.hpp"
#include "image/tar_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::image {

/// Beyond what images have, and within the memory and time of a confined process.
struct LayerLimits {
    std::size_t entries = 2'000'000;            ///< Of all layers; and directories made for them.
    std::size_t text = std::size_t{128} << 20U; ///< Of names and targets.
    std::size_t names = most_names;             ///< In a directory that is listed.
};
constexpr std::size_t deepest_directory = 2048; ///< As paths of the kernel are.

/// What tars show when one is unpacked over the other, as container engines do with the layers of
/// an image. Their contents stay where they are, in one file. Whoever made them may be hostile:
/// links and ".." lead nowhere but to names in here.
class LayerTree final : public FileSystem {
public:
    /// An empty directory. `fd` is borrowed.
    explicit LayerTree(int fd, const LayerLimits& limits = {});

    /// Unpacks one more over what is there. Its files whose names begin with ".wh." say what of the
    /// lower ones is gone. Errors: EBADMSG, also for what no engine would unpack; EIO; too_much.
    Result<void> add(const Extent& tar);

    /// Where the content of a regular file is, to which links may lead; none if there is none.
    std::optional<Extent> content_of(std::string_view path) const;
    FileWindow& file() noexcept { return *file_; }
    void set_variables(std::vector<std::string> variables) { variables_ = std::move(variables); }

    Result<Reference> root() override;
    Result<Inode> inode(Reference place) override;
    Result<std::vector<Name>> list(Reference directory) override;
    /// sparse_file, for one that is stored so.
    Result<std::size_t> read(Reference file, std::uint64_t offset, std::span<char> bytes) override;

    Result<std::vector<std::string>> variables() override { return variables_; }

private:
    using Number = std::uint32_t;
    struct Child {
        Number node;
        std::uint32_t layer; ///< That it came with.
    };
    using Names = std::map<std::string, Child, std::less<>>;
    struct Node {
        std::uint64_t offset = 0; ///< Of a regular file, in the file.
        std::uint64_t size = 0;
        std::uint32_t mode = 0;
        std::uint32_t mtime = 0;
        std::uint32_t more = 0; ///< Number of its names, or of its target.
        rootfs::EntryType type = rootfs::EntryType::none;
        bool is_sparse = false;
    };
    /// A path that is being followed.
    struct Way;

    Result<void> unpack(const TarEntry& entry);
    Result<void> set(Number parent, std::string_view name, const TarEntry& entry);
    Result<Number> new_node(const TarEntry& entry);
    Result<Number> linked_node(const TarEntry& entry);
    Result<void> put(Number parent, std::string_view name, Number node);
    Result<void> white_out(Number parent, std::string_view name);
    Names::iterator hide(Names& names, Names::iterator child);
    void hide_all(Number directory);
    Result<Number> parent_of(std::string_view path);
    Result<Number> directory_at(std::string_view path, bool makes);
    Result<void> step(std::string_view component, bool makes, Way& way);
    Result<void> follow(Number link, Way& way) const;
    Result<Number> make_directory(Number parent, std::string_view name);
    Result<void> take_text(std::size_t size);
    const Child* find(Number directory, std::string_view name) const;
    std::optional<Number> node_at(std::string_view path) const;

    std::unique_ptr<FileWindow> file_;
    LayerLimits limits_;
    std::uint32_t layer_ = 0;
    std::size_t entries_ = 0;
    std::size_t text_ = 0;
    std::deque<Node> nodes_; ///< Also those that no name leads to any more.
    std::deque<Names> names_;
    std::deque<std::string> targets_;
    std::vector<std::string> variables_;
    /// The last directory that was looked for, while nothing on the way to it changed.
    std::optional<Number> last_parent_;
    std::string last_parent_path_;
};

} // namespace gpucontainer::image

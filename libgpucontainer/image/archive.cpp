// SPDX-License-Identifier: MIT
#include "image/archive.hpp"

#include "base/try.hpp"
#include "image/archive_manifest.hpp"
#include "image/layer_tree.hpp"
#include "image/refusal.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gpucontainer::image {
namespace {

struct Compression {
    std::string_view magic;
    std::string_view program;
};
constexpr std::array compressions = {
    Compression{"\x1f\x8b", "gzip"},
    Compression{"\x28\xb5\x2f\xfd", "zstd"},
    Compression{{"\xfd\x37zXZ\0", 6}, "xz"},
    Compression{"BZh", "bzip2"},
};

/// As many of the first bytes as tell what it is.
Result<std::string> beginning_of(FileWindow& file, const Extent& part)
{
    std::string bytes(std::min<std::uint64_t>(part.size, tar_header_size), '\0');
    GPUCTR_CHECK(file.read(part.offset, bytes));
    return bytes;
}

/// An archive, as a tree of its files.
class Archive {
public:
    explicit Archive(int fd) : members_(fd), fd_(fd) {}

    Result<void> open(std::uint64_t size) { return members_.add({0, size}); }
    Result<std::unique_ptr<FileSystem>> image();

private:
    Result<std::string> read(const std::string& path);
    Result<ImageParts> find_image();
    Result<Extent> find_layer(const std::string& path);

    LayerTree members_;
    int fd_;
    bool is_docker_ = false;
};

Result<std::string> Archive::read(const std::string& path)
{
    const auto member = members_.content_of(path);
    if (!member)
        return refusal(Refusal::missing_member, path);
    if (member->size > largest_manifest_file)
        return refusal(Refusal::unknown_manifest, path);
    std::string text(member->size, '\0');
    GPUCTR_CHECK(members_.file().read(member->offset, text));
    return text;
}

/// Newer versions of docker save write both; theirs names the layers in both.
Result<ImageParts> Archive::find_image()
{
    const ReadMember reading = [this](const std::string& path) { return read(path); };
    is_docker_ = members_.content_of(docker_manifest).has_value();
    if (is_docker_)
        return find_docker_image(reading);
    if (members_.content_of(oci_index))
        return find_oci_image(reading);
    return refusal(Refusal::no_manifest);
}

Result<Extent> Archive::find_layer(const std::string& path)
{
    const auto layer = members_.content_of(path);
    if (!layer)
        return refusal(Refusal::missing_member, path);
    GPUCTR_TRY(const std::string bytes, beginning_of(members_.file(), *layer));
    if (const auto program = compression_of(bytes); !program.empty())
        return refusal(is_docker_ ? Refusal::compressed_docker_layer
                                  : Refusal::compressed_oci_layer,
                       std::string(program));
    // An empty one is zeros.
    const bool is_tar = std::ranges::all_of(bytes, [](char byte) { return byte == '\0'; })
                        || begins_like_tar(bytes);
    return is_tar ? Result<Extent>(*layer) : refusal(Refusal::unknown_layer, path);
}

Result<std::unique_ptr<FileSystem>> Archive::image()
{
    GPUCTR_TRY(const ImageParts parts, find_image());
    auto tree = std::make_unique<LayerTree>(fd_);
    for (const std::string& path : parts.layers) {
        GPUCTR_TRY(const Extent layer, find_layer(path));
        GPUCTR_CHECK(tree->add(layer));
    }
    if (!parts.config.empty()) {
        GPUCTR_TRY(const std::string config, read(parts.config));
        GPUCTR_TRY(auto variables, variables_of_config(config));
        tree->set_variables(std::move(variables));
    }
    return std::unique_ptr<FileSystem>(std::move(tree));
}

} // namespace

bool is_archive(int fd)
{
    FileWindow file(fd);
    std::array<char, tar_header_size> header = {};
    return file.read(0, header) && begins_like_tar({header.data(), header.size()});
}

std::string_view compression_of(std::string_view bytes)
{
    const auto known = std::ranges::find_if(
        compressions, [&](const Compression& one) { return bytes.starts_with(one.magic); });
    return known == compressions.end() ? std::string_view() : known->program;
}

Result<std::unique_ptr<FileSystem>> open_archive(int fd, std::uint64_t size)
{
    Archive archive(fd);
    GPUCTR_CHECK(archive.open(size));
    return archive.image();
}

} // namespace gpucontainer::image

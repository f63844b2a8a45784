// SPDX-License-Identifier: MIT
#include "image/archive.hpp"
#include "image/image_view.hpp"
#include "image/messages.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

namespace gpucontainer::fuzz {
namespace {

constexpr std::size_t block = 512;
constexpr std::size_t checksum_at = 148;
constexpr std::size_t magic_at = 257;

/// Headers with the checksums that they should have, which are not found by chance.
std::string repaired(std::string input)
{
    for (std::size_t at = 0; at + block <= input.size(); at += block) {
        if (input.compare(at + magic_at, 5, "ustar") != 0)
            continue;
        input.replace(at + checksum_at, 8, "        ");
        unsigned sum = 0;
        for (std::size_t i = at; i < at + block; ++i)
            sum += static_cast<unsigned char>(input[i]);
        for (std::size_t digit = 6; digit-- > 0; sum /= 8)
            input[at + checksum_at + digit] = static_cast<char>('0' + sum % 8);
        input[at + checksum_at + 6] = '\0';
    }
    return input;
}

/// Answers that the caller's process would take.
void look_at(image::FileSystem& files, image::Reference place, std::size_t size, int depth,
             int& left)
{
    const auto inode = files.inode(place);
    demand(inode && image::read_inode(image::to_text(*inode)), "what is listed is there");
    std::string bytes(100, '\0');
    if (const auto got = files.read(place, 0, bytes))
        demand(*got <= std::min<std::size_t>(inode->size, size), "contents lie within the file");
    const auto names = files.list(place);
    demand(names.has_value() == (inode->type == rootfs::EntryType::directory),
           "a directory has names, and nothing else does");
    if (!names)
        return;
    demand(image::read_names(image::to_text(*names)).has_value(), "each name is one, in order");
    for (const image::Name& name : *names)
        if (depth > 0 && left-- > 0)
            look_at(files, name.inode, size, depth - 1, left);
}

} // namespace

/// An archive of an image, read in this process.
void run(std::string_view input)
{
    const std::string archive = repaired(std::string(input));
    const auto file = memory_file(archive);
    auto opened = image::open_archive(file.get(), archive.size());
    if (!opened)
        return;
    std::shared_ptr<image::FileSystem> files = *std::move(opened);
    int left = 100;
    look_at(*files, *files->root(), archive.size(), 8, left);
    const auto variables = files->variables();
    demand(variables && image::read_variables(image::to_text(*variables)), "each variable is one");
    const auto view = image::ImageView::open(files);
    demand(view.has_value(), "the root is a directory");
    for (const char* const path : {"/lib/libx.so.1", "/opt/x", "/usr/../lib/long"})
        (void)(*view)->resolve(path);
}

} // namespace gpucontainer::fuzz

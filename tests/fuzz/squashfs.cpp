// SPDX-License-Identifier: MIT
#include "image/open_root.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

#include <cstddef>
#include <string>

namespace gpucontainer::fuzz {
namespace {

constexpr std::size_t limit = 1U << 16U;

void look_at(const rootfs::View& view, const std::string& directory, int depth, int& left)
{
    const auto names = view.list(directory, limit);
    for (std::size_t i = 0; names && i < names->size() && depth > 0 && left-- > 0; ++i) {
        const std::string path = directory + "/" + (*names)[i];
        (void)view.look(path);
        (void)view.resolve(path);
        if (const auto content = view.read(path, limit))
            demand(content->size() <= limit, "no more than the limit is read");
        look_at(view, path, depth - 1, left);
    }
}

} // namespace

/// An image, read as for every caller: in a process of its own, for libsquashfs asks for as much
/// memory as an image says.
void run(std::string_view input)
{
    const auto file = memory_file(input);
    const auto root = image::open_root(file.get());
    if (!root)
        return;
    int left = 64;
    look_at(**root, "", 4, left);
    (void)(*root)->check();
}

} // namespace gpucontainer::fuzz

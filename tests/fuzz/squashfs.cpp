// SPDX-License-Identifier: MIT
#include "image/squashfs.hpp"
#include "image/image_view.hpp"
#include "image/place.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

#include <cstdlib>

namespace gpucontainer::fuzz {
namespace {

constexpr std::size_t limit = 1U << 16U;

void look_at(const image::ImageView& view, const std::string& directory, int depth, int& left)
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

/// An image, read in this process: what libsquashfs does wrong would be seen.
void run(std::string_view input)
{
    static const auto functions = image::load_squash_functions();
    demand(static_cast<bool>(functions), "libsquashfs is installed");
    const auto file = memory_file(input);
    const auto place = image::find_root_file_system(file.get());
    if (!place)
        return;
    auto files = image::open_squashfs(*functions, file.get(), *place);
    if (!files)
        return;
    const auto view = image::ImageView::open(*std::move(files));
    int left = 64;
    if (view)
        look_at(**view, "", 4, left);
}

} // namespace gpucontainer::fuzz

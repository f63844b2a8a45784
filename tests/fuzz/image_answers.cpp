// SPDX-License-Identifier: MIT
#include "image/image_view.hpp"
#include "image/messages.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <cerrno>

namespace gpucontainer::fuzz {
namespace {

/// The process that reads an image, once that took it over: it answers what it likes.
class Liar final : public image::FileSystem {
public:
    explicit Liar(std::string_view input) : input_(input) {}

    Result<image::Reference> root() override { return image::Reference{0}; }
    Result<image::Inode> inode(image::Reference /*place*/) override
    {
        return image::read_inode(answer());
    }
    Result<std::vector<image::Name>> list(image::Reference /*directory*/) override
    {
        return image::read_names(answer());
    }
    Result<std::size_t> read(image::Reference /*file*/, std::uint64_t /*offset*/,
                             std::span<char> bytes) override
    {
        const std::string_view text = answer();
        const std::size_t size = std::min(text.size(), bytes.size());
        std::copy_n(text.begin(), size, bytes.begin());
        return size;
    }

private:
    /// The next of the answers, each of which begins with its length.
    std::string_view answer()
    {
        if (input_.empty())
            return {};
        const std::size_t size =
            std::min<std::size_t>(static_cast<unsigned char>(input_.front()), input_.size() - 1);
        const std::string_view text = input_.substr(1, size);
        input_.remove_prefix(size + 1);
        return text;
    }

    std::string_view input_;
};

bool is_name(const std::string& name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos
           && name.find('\0') == std::string::npos;
}

} // namespace

void run(std::string_view input)
{
    auto view = image::ImageView::open(std::make_shared<Liar>(input));
    if (!view)
        return;
    constexpr std::size_t limit = 1U << 16U;
    if (const auto names = (*view)->list("/", limit))
        demand(std::all_of(names->begin(), names->end(), is_name), "each name is one");
    for (const char* const path : {"/a", "/a/b", "/a/../b/a", "/b", "/a/a/a"}) {
        const auto entry = (*view)->resolve(path);
        demand(entry.mode <= 07777U, "a mode is of permission bits");
        (void)(*view)->look(path);
        demand((*view)->link_target(path).find('\0') == std::string::npos, "a target is a path");
        if (const auto content = (*view)->read(path, limit))
            demand(content->size() <= limit, "no more than the limit is read");
    }
    (void)(*view)->check();
}

} // namespace gpucontainer::fuzz

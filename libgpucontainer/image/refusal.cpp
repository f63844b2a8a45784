// SPDX-License-Identifier: MIT
#include "image/refusal.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::image {
namespace {

constexpr std::size_t longest_detail = 500;

constexpr const char* known_archives =
    "archives of docker save, podman save and skopeo are read; name one, or a directory";
constexpr const char* make_again = "save or copy it once more";

/// As it can be printed anywhere.
std::string plain(std::string_view detail)
{
    std::string text(detail.substr(0, longest_detail));
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

Error broken(std::string why, const char* hint = make_again)
{
    return Error(Errc::rootfs, std::move(why)).with_hint(hint);
}

Error not_for_us(std::string why, const char* hint)
{
    return Error(Errc::requirement, std::move(why)).with_hint(hint);
}

Error several(const std::string& names, const char* hint)
{
    return not_for_us(base::format("the archive holds several images: {}", names), hint);
}

Error compressed(const std::string& method, const char* hint)
{
    return not_for_us(base::format("the archive's layers are compressed with {}, and are read "
                                   "as plain tars only",
                                   method),
                      hint);
}

} // namespace

Error refusal(Refusal why, std::string detail)
{
    return Error::from_errno(static_cast<int>(why), "archive", Errc::rootfs)
        .with_object(std::move(detail));
}

bool is_refusal(int number) noexcept
{
    return number >= static_cast<int>(Refusal::no_manifest)
           && number <= static_cast<int>(Refusal::sparse_file);
}

Error refusal_error(int number, std::string_view detail)
{
    const std::string text = plain(detail);
    switch (static_cast<Refusal>(number)) {
    case Refusal::no_manifest:
        return broken("an archive without an image: it has neither manifest.json nor index.json",
                      known_archives);
    case Refusal::unknown_manifest:
        return broken(base::format("{} of the archive says nothing that is understood", text));
    case Refusal::no_image:
        return broken("an archive without an image", known_archives);
    case Refusal::several_docker_images:
        return several(text, "save one of them: docker save -o FILE NAME, or skopeo copy "
                             "docker-archive:IMAGE:NAME docker-archive:FILE");
    case Refusal::several_oci_images:
        return several(text, "copy one of them: skopeo copy oci-archive:IMAGE:NAME "
                             "docker-archive:FILE");
    case Refusal::other_platforms:
        return not_for_us(base::format("the archive's images are for other machines: {}", text),
                          "save the image for this machine: skopeo copy --override-arch ARCH ...");
    case Refusal::missing_member:
        return broken(base::format("the archive lacks {}, which its manifest names", text));
    case Refusal::compressed_docker_layer:
        return compressed(text, "skopeo copy docker-archive:IMAGE docker-archive:NEW makes one "
                                "with plain layers");
    case Refusal::compressed_oci_layer:
        return compressed(text, "skopeo copy oci-archive:IMAGE docker-archive:NEW makes one with "
                                "plain layers");
    case Refusal::unknown_layer:
        return not_for_us(
            base::format("{} of the archive is no layer of an image, or is encrypted", text),
            "unpack the image into a directory, and name that");
    case Refusal::too_much:
        return not_for_us("the archive has more files, names or layers than are read",
                          "unpack the image into a directory, and name that");
    case Refusal::sparse_file:
        break;
    }
    return not_for_us("a file that the archive stores without its holes, which is not read",
                      "unpack the image into a directory, and name that");
}

} // namespace gpucontainer::image

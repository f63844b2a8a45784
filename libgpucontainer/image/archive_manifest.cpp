// SPDX-License-Identifier: MIT
#include "image/archive_manifest.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "image/file_system.hpp"
#include "image/refusal.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gpucontainer::image {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_levels = 32;   ///< Of a document.
constexpr unsigned most_indexes = 4;      ///< In each other.
constexpr std::size_t most_images = 1000; ///< In all indexes.

#if defined(__x86_64__)
constexpr std::string_view own_platform = "linux/amd64";
#elif defined(__aarch64__)
constexpr std::string_view own_platform = "linux/arm64";
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr std::string_view own_platform = "linux/ppc64le";
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::string_view own_platform = "linux/riscv64";
#elif defined(__s390x__)
constexpr std::string_view own_platform = "linux/s390x";
#elif defined(__loongarch64)
constexpr std::string_view own_platform = "linux/loong64";
#else
constexpr std::string_view own_platform = "linux"; // every one counts as another's
#endif

Error not_understood(const std::string& path) { return refusal(Refusal::unknown_manifest, path); }

Result<Json> parsed(std::string_view text, const std::string& path)
{
    if (text.size() > largest_manifest_file || base::json_depth(text) > most_levels)
        return not_understood(path);
    Json document = Json::parse(text, nullptr, false);
    return document.is_discarded() ? Result<Json>(not_understood(path)) : std::move(document);
}

Result<Json> read_json(const ReadMember& read, const std::string& path)
{
    GPUCTR_TRY(const std::string text, read(path));
    return parsed(text, path);
}

/// A member of an object; null if there is none.
const Json& member_of(const Json& object, const char* name)
{
    static const Json null;
    if (!object.is_object())
        return null;
    const auto found = object.find(name);
    return found == object.end() ? null : *found;
}

/// "" if it is no text.
std::string text_in(const Json& object, const char* name)
{
    const Json& value = member_of(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// Takes texts out of a list. False if it is none, or has something else, or more than `most`.
bool take_texts(const Json& list, std::size_t most, std::vector<std::string>& texts)
{
    if (!list.is_array() || list.size() > most)
        return false;
    for (const Json& one : list) {
        if (!one.is_string())
            return false;
        texts.push_back(one.get<std::string>());
    }
    return true;
}

/// NAME=VALUE, as an environment can have it.
bool is_setting(std::string_view text)
{
    const std::size_t equals = text.find('=');
    return equals != 0 && equals != std::string_view::npos
           && text.find('\0') == std::string_view::npos;
}

/// "blobs/sha256/0123..." for "sha256:0123...".
std::string blob_of(const Json& descriptor)
{
    std::string digest = text_in(descriptor, "digest");
    const std::size_t colon = digest.find(':');
    if (colon == std::string::npos || digest.find('/') != std::string::npos)
        return "";
    digest[colon] = '/';
    return "blobs/" + digest;
}

/// What users call an image of docker's list.
std::string name_of_docker_image(const Json& image)
{
    const Json& tags = member_of(image, "RepoTags");
    if (tags.is_array() && !tags.empty() && tags.front().is_string())
        return tags.front().get<std::string>();
    return text_in(image, "Config");
}

/// An image that an OCI index lists.
struct Listed {
    std::string manifest; ///< Where it is.
    std::string platform; ///< "os/architecture"; "" if it is not said.
    std::string name;     ///< For users.
};

Listed listed_image(const Json& descriptor, const Json& around)
{
    Listed image;
    image.manifest = blob_of(descriptor);
    const Json& platform = member_of(descriptor, "platform");
    const std::string os = text_in(platform, "os");
    if (!os.empty())
        image.platform = os + "/" + text_in(platform, "architecture");
    for (const Json* const one : {&descriptor, &around}) {
        const Json& annotations = member_of(*one, "annotations");
        for (const char* const key :
             {"io.containerd.image.name", "org.opencontainers.image.ref.name"})
            if (image.name.empty())
                image.name = text_in(annotations, key);
    }
    if (image.name.empty())
        image.name = text_in(descriptor, "digest");
    if (const std::string variant = text_in(platform, "variant"); !variant.empty())
        image.name += base::format(" ({}/{})", image.platform, variant);
    else if (!image.platform.empty())
        image.name += base::format(" ({})", image.platform);
    return image;
}

bool is_index(const Json& descriptor)
{
    const std::string type = text_in(descriptor, "mediaType");
    return type == "application/vnd.oci.image.index.v1+json"
           || type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

/// Adds the images of an index, and of those that it lists. `around` lists the index.
Result<void> add_images(const ReadMember& read, const std::string& path, const Json& around,
                        unsigned depth, std::vector<Listed>& images)
{
    GPUCTR_TRY(const Json index, read_json(read, path));
    const Json& manifests = member_of(index, "manifests");
    if (!manifests.is_array() || depth > most_indexes)
        return not_understood(path);
    for (const Json& descriptor : manifests) {
        const std::string blob = blob_of(descriptor);
        if (blob.empty() || images.size() >= most_images)
            return not_understood(path);
        if (is_index(descriptor)) {
            GPUCTR_CHECK(add_images(read, blob, descriptor, depth + 1, images));
            continue;
        }
        Listed image = listed_image(descriptor, around);
        // What builders tell of an image is listed beside it.
        if (!image.platform.starts_with("unknown/"))
            images.push_back(std::move(image));
    }
    return {};
}

std::string names_of_images(const std::vector<Listed>& images)
{
    std::vector<std::string> names;
    names.reserve(images.size());
    for (const Listed& image : images)
        names.push_back(image.name);
    return base::joined(names, ", ");
}

/// Each only once: other names may lead to the same.
void drop_repeated(std::vector<Listed>& images)
{
    std::ranges::stable_sort(images, {}, &Listed::manifest);
    const auto is_same = [](const Listed& one, const Listed& other) {
        return one.manifest == other.manifest;
    };
    images.erase(std::unique(images.begin(), images.end(), is_same), images.end());
}

Result<Listed> choose(std::vector<Listed> images)
{
    drop_repeated(images);
    if (images.empty())
        return refusal(Refusal::no_image);
    if (images.size() == 1)
        return std::move(images.front());
    const std::string all = names_of_images(images);
    std::erase_if(images, [](const Listed& image) {
        return !image.platform.empty() && image.platform != own_platform;
    });
    if (images.empty())
        return refusal(Refusal::other_platforms, all);
    if (images.size() > 1)
        return refusal(Refusal::several_oci_images, names_of_images(images));
    return std::move(images.front());
}

} // namespace

Result<ImageParts> find_docker_image(const ReadMember& read)
{
    GPUCTR_TRY(const Json list, read_json(read, docker_manifest));
    if (!list.is_array())
        return not_understood(docker_manifest);
    if (list.empty())
        return refusal(Refusal::no_image);
    if (list.size() > 1) {
        std::vector<std::string> names;
        names.reserve(list.size());
        for (const Json& image : list)
            names.push_back(name_of_docker_image(image));
        return refusal(Refusal::several_docker_images, base::joined(names, ", "));
    }
    ImageParts parts;
    parts.config = text_in(list.front(), "Config");
    if (!take_texts(member_of(list.front(), "Layers"), most_layers, parts.layers))
        return not_understood(docker_manifest);
    return parts;
}

Result<ImageParts> find_oci_image(const ReadMember& read)
{
    std::vector<Listed> images;
    GPUCTR_CHECK(add_images(read, oci_index, Json(), 0, images));
    GPUCTR_TRY(const Listed image, choose(std::move(images)));
    GPUCTR_TRY(const Json manifest, read_json(read, image.manifest));
    const Json& layers = member_of(manifest, "layers");
    if (!layers.is_array() || layers.size() > most_layers)
        return not_understood(image.manifest);
    ImageParts parts;
    parts.config = blob_of(member_of(manifest, "config"));
    for (const Json& layer : layers) {
        parts.layers.push_back(blob_of(layer));
        if (parts.layers.back().empty())
            return not_understood(image.manifest);
    }
    return parts;
}

Result<std::vector<std::string>> variables_of_config(std::string_view config)
{
    constexpr const char* here = "the configuration";
    GPUCTR_TRY(const Json document, parsed(config, here));
    const Json& variables = member_of(member_of(document, "config"), "Env");
    std::vector<std::string> texts;
    if (!variables.is_null() && !take_texts(variables, most_image_variables, texts))
        return not_understood(here);
    // Engines pass over what is no variable.
    std::erase_if(texts, [](const std::string& text) { return !is_setting(text); });
    return texts;
}

} // namespace gpucontainer::image

// SPDX-License-Identifier: MIT
#include "record/registration.hpp"

#include "base/text.hpp"
#include "record/fields.hpp"

#include <string_view>

namespace gpucontainer::record {
namespace {

const char* is_path_in_container(std::string_view text)
{
    for (const std::string_view part : base::split(text, '/'))
        if (const char* const problem = is_name(part))
            return problem;
    return nullptr;
}

} // namespace

bool is_for(model::Manner manner, model::FileKind kind)
{
    switch (manner) {
    case model::Manner::loader:
    case model::Manner::module_directory:
    case model::Manner::module_name:
    case model::Manner::opencl_icd:
    case model::Manner::egl_vendor:
    case model::Manner::egl_platform:
    case model::Manner::vulkan_icd:
    case model::Manner::vulkan_layer:
    case model::Manner::vulkansc_icd:
    case model::Manner::gpu_mask:
        return kind == model::FileKind::library;
    case model::Manner::command:
    case model::Manner::script:
        return kind == model::FileKind::tool;
    case model::Manner::fixed_path:
        return kind == model::FileKind::data;
    case model::Manner::beside_libraries:
        break;
    }
    return kind != model::FileKind::tool;
}

const char* problem_with_name(const model::Registration& registration)
{
    using model::Manner;

    const std::string_view name = registration.name;
    switch (registration.manner) {
    case Manner::loader:
    case Manner::command:
        return name.empty() ? nullptr : "not null";
    case Manner::module_directory:
    case Manner::module_name:
    case Manner::beside_libraries:
        return is_path_in_container(name);
    case Manner::opencl_icd:
    case Manner::egl_vendor:
    case Manner::egl_platform:
    case Manner::vulkan_icd:
    case Manner::vulkan_layer:
    case Manner::vulkansc_icd:
        return is_name(name);
    case Manner::script:
        return name.empty() ? "not a text" : nullptr;
    case Manner::gpu_mask:
    case Manner::fixed_path:
        return is_path(name);
    }
    return nullptr;
}

} // namespace gpucontainer::record

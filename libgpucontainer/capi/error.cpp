// SPDX-License-Identifier: MIT
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

#include <cstdlib>
#include <exception>
#include <new>

namespace gpucontainer::capi {

gpuctr_status publish(Error error, gpuctr_error** ret_error) noexcept
try {
    const auto status = -static_cast<gpuctr_status>(error.code());
    if (ret_error != nullptr) {
        *ret_error = nullptr;
        std::string message = error.message();
        *ret_error = new gpuctr_error{std::move(error), std::move(message)};
    }
    return status;
} catch (const std::bad_alloc&) {
    return GPUCTR_E_INTERNAL;
}

gpuctr_status publish_current_exception(gpuctr_error** ret_error) noexcept
try {
    if (ret_error != nullptr)
        *ret_error = nullptr;
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return GPUCTR_E_INTERNAL;
    } catch (const std::exception& exception) {
        return publish(Error(Errc::internal, exception.what()), ret_error);
    } catch (...) {
        return publish(Error(Errc::internal, "unknown exception"), ret_error);
    }
} catch (...) {
    return GPUCTR_E_INTERNAL; // describing the exception needed memory
}

char* to_c_string(const std::string& text)
{
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1)); // NOLINT: C owns it
    if (copy == nullptr)
        throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

} // namespace gpucontainer::capi

namespace {

constexpr const char* out_of_memory = "out of memory";

} // namespace

const char* gpuctr_version() { return GPUCTR_VERSION; }

void gpuctr_string_free(char* string) { std::free(string); } // NOLINT: C owns it

gpuctr_status gpuctr_error_status(const gpuctr_error* error)
{
    return error != nullptr ? -static_cast<gpuctr_status>(error->error.code()) : GPUCTR_E_INTERNAL;
}

const char* gpuctr_error_message(const gpuctr_error* error)
{
    return error != nullptr ? error->message.c_str() : out_of_memory;
}

const char* gpuctr_error_step(const gpuctr_error* error)
{
    return error != nullptr ? error->error.step().c_str() : "";
}

const char* gpuctr_error_object(const gpuctr_error* error)
{
    return error != nullptr ? error->error.object().c_str() : "";
}

const char* gpuctr_error_cause(const gpuctr_error* error)
{
    return error != nullptr ? error->error.cause().c_str() : out_of_memory;
}

const char* gpuctr_error_hint(const gpuctr_error* error)
{
    return error != nullptr ? error->error.hint().c_str() : "";
}

const char* gpuctr_error_argument(const gpuctr_error* error)
{
    return error != nullptr ? error->error.argument() : "";
}

int gpuctr_error_os_error(const gpuctr_error* error)
{
    return error != nullptr ? error->error.os_error() : 0;
}

void gpuctr_error_free(gpuctr_error* error) { delete error; }

// SPDX-License-Identifier: MIT
#include "base/result.hpp"

#include <cerrno>
#include <cstring>

namespace gpucontainer {

struct Error::Impl {
    Errc code;
    int os_error = 0;
    std::string cause;
    std::string trail; // steps joined with ": ", outermost first
    std::string step;
    std::string object;
    std::string hint;
    const char* argument = "";
};

namespace {

/// Uses strerrordesc_np, which takes no lock.
std::string describe(int os_error)
{
    const char* text = ::strerrordesc_np(os_error);
    return text != nullptr ? text : "error " + std::to_string(os_error);
}

} // namespace

Error::Error(Errc code, std::string cause)
    : impl_(new Impl{.code = code, .cause = std::move(cause)})
{
}

Error Error::from_errno(int os_error, std::string what, Errc otherwise)
{
    const bool denied = os_error == EPERM || os_error == EACCES || os_error == EROFS;
    Error error(denied ? Errc::permission : otherwise, std::move(what) + ": " + describe(os_error));
    error.impl_->os_error = os_error;
    return error;
}

Error::Error(Error&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}

Error& Error::operator=(Error&& other) noexcept
{
    std::swap(impl_, other.impl_);
    return *this;
}

Error::~Error() { delete impl_; }

Errc Error::code() const noexcept { return impl_->code; }
int Error::os_error() const noexcept { return impl_->os_error; }

std::string Error::message() const
{
    return impl_->trail.empty() ? impl_->cause : impl_->trail + ": " + impl_->cause;
}

const std::string& Error::step() const noexcept { return impl_->step; }
const std::string& Error::object() const noexcept { return impl_->object; }
const std::string& Error::cause() const noexcept { return impl_->cause; }
const std::string& Error::hint() const noexcept { return impl_->hint; }
const char* Error::argument() const noexcept { return impl_->argument; }

Error&& Error::context(std::string step) &&
{
    impl_->trail = impl_->trail.empty() ? step : step + ": " + impl_->trail;
    impl_->step = std::move(step);
    return std::move(*this);
}

Error&& Error::with_object(std::string object) &&
{
    impl_->object = std::move(object);
    return std::move(*this);
}

Error&& Error::with_hint(std::string hint) &&
{
    impl_->hint = std::move(hint);
    return std::move(*this);
}

Error&& Error::with_code(Errc code) &&
{
    impl_->code = code;
    return std::move(*this);
}

Error&& Error::with_argument(const char* argument) &&
{
    if (*impl_->argument == '\0')
        impl_->argument = argument;
    return std::move(*this);
}

} // namespace gpucontainer

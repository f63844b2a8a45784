// SPDX-License-Identifier: MIT
// The definitions of fmt, which its header declares where FMT_HEADER_ONLY is not defined.
// The list of instances is that of fmt 9, as its own source has it.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto locale_ref::get<std::locale>() const -> std::locale;

} // namespace fmt::detail

// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"
#include "record/fields.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// The values of model/ as JSON. Each has one list of fields, in record/driver.cpp. Writing and
/// reading follow from it, and tests compare the schemas with it.
namespace gpucontainer::record {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t most_drivers = 128; // built-in ones, and those of a site
inline constexpr std::size_t most_others = 16384;

Json to_json(const model::DriverStack& driver);
Json to_json(const model::Gpu& gpu);
Json to_json(const model::Finding& finding);

/// Reads an untrusted record: every field must have its type and bounds, paths must have no "..",
/// and indexes must fit. If something is wrong, the fields have the first problem.
model::DriverStack read_driver(const Fields& fields);
model::Gpu read_gpu(const Fields& fields);
model::Finding read_finding(const Fields& fields);

/// Names of the fields in JSON, in their order.
std::vector<std::string> names_of_gpu();
std::vector<std::string> names_of_file();
std::vector<std::string> names_of_node();
std::vector<std::string> names_of_driver();
std::vector<std::string> names_of_finding();

template <typename Range, typename Function>
Json array_of(const Range& range, Function to_json)
{
    Json array = Json::array();
    for (const auto& element : range)
        array.push_back(to_json(element));
    return array;
}

inline Json number_or_null(int value) { return value < 0 ? Json(nullptr) : Json(value); }
inline Json text_or_null(const std::string& value)
{
    return value.empty() ? Json(nullptr) : Json(value);
}

} // namespace gpucontainer::record

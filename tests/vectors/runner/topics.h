// One function for each topic: runs a vector, throws Mismatch where the library differs from it. Main thread only.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/halftone.h"

namespace vectors {

using Json = nlohmann::json;

// Answers why the public interface cannot run the vector; empty where it ran.
std::string run_cast(htone_device* device, const Json& vector);
std::string run_scaler(htone_device* device, const Json& vector);
std::string run_optimizer(htone_device* device, const Json& vector);
std::string run_operation(htone_device* device, const Json& vector);

// For vectors of operations: the table of dtypes that they ask for.
Json dtype_table(htone_device* device, const std::string& kind, const Json& attributes);

// Numbers, and "inf", "-inf" and "nan", which JSON has no numbers for.
std::vector<double> numbers_of(const Json& list);

}  // namespace vectors

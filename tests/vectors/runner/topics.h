// One function per topic: runs a vector and throws Mismatch if the library's result differs. Main thread only.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/halftone.h"

namespace vectors {

using Json = nlohmann::json;

// Returns the reason why the public interface cannot run the vector; empty if it ran.
std::string run_cast(htone_device* device, const Json& vector);
std::string run_format(htone_device* device, const Json& vector);
std::string run_scaler(htone_device* device, const Json& vector);
std::string run_optimizer(htone_device* device, const Json& vector);
std::string run_scaled(htone_device* device, const Json& vector);
std::string run_operation(htone_device* device, const Json& vector);

// The table of dtypes that a vector of operations asks for.
Json dtype_table(htone_device* device, const std::string& kind, const Json& attributes);

// Numbers, and "inf", "-inf" and "nan", for which JSON has no numbers.
std::vector<double> numbers_of(const Json& list);

}  // namespace vectors

#include "base/guard.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <stdexcept>

#include "base/argument_name.h"
#include "core/error.h"
#include "core/text/utf8.h"
#include "parameter_names.h"

namespace halftone::capi {

namespace {

// A caller that reads the error of a call on another thread sees why there is none.
thread_local constinit htone_error_info error_record = {sizeof(htone_error_info), HTONE_OK, -1, 0,
                                                        "no call of this thread has failed"};
thread_local constinit uint64_t errors = 0;

// The first parameter's name; "" where no public header declares the function. The others follow (parameter_names.h).
const char* parameters_of(const char* function) noexcept {
  const auto precedes = [](const ParameterNames& row, const char* name) { return std::strcmp(row.function, name) < 0; };
  const auto* row = std::lower_bound(std::begin(kParameterNames), std::end(kParameterNames), function, precedes);
  return row != std::end(kParameterNames) && std::strcmp(row->function, function) == 0 ? row->parameters : "";
}

const char* next(const char* name) noexcept { return name + std::strlen(name) + 1; }

// The position of `argument` among the function's parameters; -1 where it is none of them. The field "options.weight"
// has the position of "options".
int32_t argument_index(const char* function, const char* argument) noexcept {
  const size_t length = std::strcspn(argument, ".");
  int32_t index = 0;
  for (const char* name = parameters_of(function); *name != '\0'; name = next(name), ++index) {
    if (std::strncmp(name, argument, length) == 0 && name[length] == '\0') return index;
  }
  return -1;
}

// A message is one line of UTF-8, and a caller's string may be part of it. A byte of anything else becomes '?'.
void make_one_line(char* message) noexcept {
  const char* end = message + std::strlen(message);
  for (char* c = message; c != end;) {
    const size_t length = utf8_length(c, static_cast<size_t>(end - c));
    if (length == 0 || static_cast<unsigned char>(*c) < ' ' || *c == '\x7f') {
      *c++ = '?';
    } else {
      c += length;
    }
  }
}

htone_status record(const char* function, Code code, int32_t native_code, const char* argument,
                    const char* message) noexcept {
  ++errors;
  error_record.status = static_cast<htone_status>(code);
  error_record.native_code = native_code;
  error_record.argument_index = argument_index(function, argument);
  // A message of a room below may lack the name that the C function gives the argument.
  const bool names_argument = std::strstr(message, argument) != nullptr;
  std::snprintf(error_record.message, sizeof error_record.message, "%s: %s%s%s", function,
                names_argument ? "" : argument, names_argument ? "" : ": ", message);
  make_one_line(error_record.message);
  return error_record.status;
}

}  // namespace

const char* parameter_name(const char* function, int position) noexcept {
  const char* name = parameters_of(function);
  for (; position > 0 && *name != '\0'; --position) name = next(name);
  return name;
}

htone_status record_current_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return record(function, error.code(), error.native_code(), error.argument(), error.what());
  } catch (const std::length_error&) {  // a container asked for more than addresses can name
    return record(function, Code::kOutOfMemory, 0, "", "more memory is needed than a process can have");
  } catch (const std::bad_alloc&) {
    return record(function, Code::kOutOfMemory, 0, "", "the process is out of memory");
  } catch (const std::exception& error) {
    return record(function, Code::kInternal, 0, "", error.what());
  } catch (...) {
    return record(function, Code::kInternal, 0, "", "an unknown exception was thrown");
  }
}

void record_reported(htone_status status, const char* message) noexcept {
  ++errors;
  error_record.status = status;
  error_record.native_code = 0;
  error_record.argument_index = -1;
  std::snprintf(error_record.message, sizeof error_record.message, "%s", message);
  make_one_line(error_record.message);
}

const htone_error_info& last_error() noexcept { return error_record; }

uint64_t error_count() noexcept { return errors; }

}  // namespace halftone::capi

#include <cmath>

#include "commands.h"
#include "session.h"
#include "text.h"

namespace halftone_analyze {

std::string sum(const Options& options) {
  Session session;
  htone_tensor* numbers = session.repeated(options.value, options.count);
  double result = 0;
  double exact = 0;
  check(htone_sum_in(numbers, options.format->format, options.method->method, &result));
  check(htone_sum_in(numbers, HTONE_FORMAT_F64, HTONE_SUM_EXACT, &exact));
  const double error = exact == 0 ? std::fabs(result) : std::fabs(result - exact) / std::fabs(exact);
  if (options.json) {
    return JsonObject()
               .text("format", options.format->name)
               .text("method", options.method->name)
               .number("value", options.value)
               .whole("count", options.count)
               .number("sum", result)
               .number("exact", exact)
               .number("relative_error", error)
               .done() +
           "\n";
  }
  return "sum             " + exact_text(result) + "\nexact           " + exact_text(exact) + "\nrelative error  " +
         short_text(error) + "\n";
}

}  // namespace halftone_analyze

#include "comm/group/agreement.h"

#include <cstdio>
#include <new>

namespace halftone {
namespace {

// As it goes to the other ranks.
struct Report {
  Code code = Code::kOk;
  int32_t native_code = 0;
  Numbers numbers = {};
  char message[Error::kMessageCapacity] = "";
};

Report report_of(const std::exception_ptr& error, const Numbers& numbers) noexcept {
  Report report;
  report.numbers = numbers;
  if (!error) return report;
  try {
    std::rethrow_exception(error);
  } catch (const Error& thrown) {
    report.code = thrown.code();
    report.native_code = thrown.native_code();
    std::snprintf(report.message, sizeof report.message, "%s", thrown.what());
  } catch (const std::bad_alloc&) {
    report.code = Code::kOutOfMemory;
    std::snprintf(report.message, sizeof report.message, "out of memory");
  } catch (...) {
    report.code = Code::kInternal;
  }
  return report;
}

View view_of(Report* reports, size_t count) {
  const int64_t bytes = static_cast<int64_t>(count * sizeof(Report));
  return {.data = reports, .dtype = DType::kU8, .shape = {bytes}, .strides = {1}};
}

[[noreturn]] void throw_for(size_t rank, const Report& report) {
  char message[Error::kMessageCapacity];
  std::snprintf(message, sizeof message, "rank %zu: %.420s", rank, report.message);
  throw Error(report.code, report.native_code, "", message);
}

}  // namespace

// This rank's error is known only to it, so the exchange comes first in any case.
std::vector<Numbers> agree(Group& group, const std::exception_ptr& error, const Numbers& numbers) {
  std::vector<Report> reports(static_cast<size_t>(group->size()));
  Report own = report_of(error, numbers);
  run_and_wait([&](Work** work) {
    return group->all_gather({}, view_of(&own, 1), view_of(reports.data(), reports.size()), work);
  });
  if (error) std::rethrow_exception(error);
  std::vector<Numbers> all;
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].code != Code::kOk) throw_for(rank, reports[rank]);
    all.push_back(reports[rank].numbers);
  }
  return all;
}

}  // namespace halftone

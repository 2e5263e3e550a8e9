// The lines of a run's file that stay if the run goes on after one of its steps. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/file.h"

namespace halftone::analysis {

// The step of a line of a record; -1 if the line does not begin with it.
int64_t step_of_line(std::string_view line) noexcept;

// Copies to `to` the complete lines of `from` whose step is at most `after_step`, and returns their bytes. A last line
// without an end is dropped: a process that was killed may leave one. Throws IO, and FORMAT for a line that belongs to
// no record.
uint64_t copy_kept_lines(const File& from, int64_t after_step, File& to);

// Throws FORMAT if the file is not empty and does not begin as a record does.
void require_record(const File& file);

}  // namespace halftone::analysis

// Copies elements unchanged between views of one dtype.
#pragma once

#include "backend/view.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// REQUIRES: equal shapes and dtypes. A tensor may be copied onto itself.
void copy(ThreadPool& pool, const View& in, const View& out) noexcept;

}  // namespace halftone::cpu

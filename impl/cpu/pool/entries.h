// The functions of the CPU's pooling table, one source file for each kind.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

Status max_pool(Stream& stream, const PoolArgs& args) noexcept;
Status max_pool_backward(Stream& stream, const PoolArgs& args) noexcept;
Status average_pool(Stream& stream, const PoolArgs& args) noexcept;
Status average_pool_backward(Stream& stream, const PoolArgs& args) noexcept;

}  // namespace halftone::cpu

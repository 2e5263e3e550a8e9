// Handles of tensors.
#pragma once

#include "base/objects.h"
#include "tensor/tensor.h"

struct htone_tensor;

namespace halftone::capi {

template <>
struct HandleTraits<htone_tensor> : HandleTo<Tensor, HandleType::kTensor> {};

// Throws STATE naming `argument`.
[[noreturn]] void fail_released(ArgumentName argument);

template <>
struct ObjectAccess<Tensor> {
  static const Tensor& value(const Tensor& tensor) noexcept { return tensor; }
  // A tensor over weights that ranks share has no memory between their uses, and no content while they are gathered.
  static void require_usable(const Tensor& tensor, ArgumentName argument) {
    const Storage& storage = *tensor.storage();
    if (storage.is_released()) [[unlikely]]
      fail_released(argument);
    if (StorageRestorer* restorer = storage.restorer()) [[unlikely]]
      restorer->restore();
  }
};

}  // namespace halftone::capi

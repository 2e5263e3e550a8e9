#include "halftone/cache.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/transformer/transformer.h"
#include "tensor/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor transformer_cache(const nn::Module& module, int64_t batch, int64_t positions, DType dtype) {
  const auto* transformer = dynamic_cast<const nn::Transformer*>(&module);
  if (transformer != nullptr) return transformer->make_cache(batch, positions, dtype);
  fail(Code::kInvalidArgument, "module", "module is of kind %s, expected a transformer", module.kind());
}

}  // namespace

htone_status htone_transformer_cache(htone_module* module, int64_t batch, int64_t positions, htone_dtype dtype,
                                     htone_tensor** out) {
  return Pure(transformer_cache, module, batch, positions, as<weight_dtype>(dtype), out);
}

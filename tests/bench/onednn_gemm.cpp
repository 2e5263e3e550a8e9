#include "bench/onednn_gemm.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace halftone {
namespace {

dnnl::memory::data_type type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return dnnl::memory::data_type::f32;
    case DType::kBF16:
      return dnnl::memory::data_type::bf16;
    case DType::kF16:
      return dnnl::memory::data_type::f16;
    default:
      return dnnl::memory::data_type::undef;
  }
}

dnnl::memory::desc describe(const View& view) {
  return {{view.shape[0], view.shape[1]}, type_of(view.dtype), {view.strides[0], view.strides[1]}};
}

}  // namespace

struct OnednnGemm::State {
  State(const GemmArgs& args, const dnnl::matmul::primitive_desc& description)
      : stream(engine()),
        primitive(description),
        arguments({{DNNL_ARG_SRC, dnnl::memory(describe(args.a), engine(), args.a.data)},
                   {DNNL_ARG_WEIGHTS, dnnl::memory(describe(args.b), engine(), args.b.data)},
                   {DNNL_ARG_DST, dnnl::memory(describe(args.c), engine(), args.c.data)}}) {}

  static dnnl::engine& engine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
  }

  dnnl::stream stream;
  dnnl::matmul primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

OnednnGemm::OnednnGemm(const GemmArgs& args) {
  const dnnl::matmul::desc operation(describe(args.a), describe(args.b), describe(args.c));
  const dnnl::matmul::primitive_desc description(operation, dnnl::primitive_attr(), State::engine(), true);
  if (description.get(true) != nullptr) state_ = std::make_unique<State>(args, description);
}

OnednnGemm::~OnednnGemm() = default;

void OnednnGemm::run() {
  state_->primitive.execute(state_->stream, state_->arguments);
  state_->stream.wait();
}

}  // namespace halftone

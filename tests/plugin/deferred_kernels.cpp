#include "deferred_kernels.h"

#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cpu/kernel_groups.h"
#include "deferred_stream.h"

namespace halftone::deferred {
namespace {

// keep() copies an argument for the time after the call, as backend/device.h demands, and given() returns what the
// CPU's kernel gets then. Views and settings are plain data. Pointers in them are device memory, which is not copied.
template <class T>
T keep(const T& argument) {
  return argument;
}
template <class T>
const T& given(const T& argument) {
  return argument;
}

std::string keep(const char* text) { return text; }
const char* given(const std::string& text) { return text.c_str(); }

Status add(Stream& stream, Work work) { return static_cast<DeferredStream&>(stream).add(std::move(work)); }

constexpr auto table_of(const ConvertKernels*) { return &Kernels::convert; }
constexpr auto table_of(const ElementwiseKernels*) { return &Kernels::elementwise; }
constexpr auto table_of(const ReduceKernels*) { return &Kernels::reduce; }
constexpr auto table_of(const GemmKernels*) { return &Kernels::gemm; }
constexpr auto table_of(const ConvKernels*) { return &Kernels::conv; }
constexpr auto table_of(const PoolKernels*) { return &Kernels::pool; }
constexpr auto table_of(const ResampleKernels*) { return &Kernels::resample; }
constexpr auto table_of(const NormKernels*) { return &Kernels::norm; }
constexpr auto table_of(const AttentionKernels*) { return &Kernels::attention; }
constexpr auto table_of(const LossKernels*) { return &Kernels::loss; }
constexpr auto table_of(const IndexKernels*) { return &Kernels::index; }
constexpr auto table_of(const SelectKernels*) { return &Kernels::select; }
constexpr auto table_of(const RandomKernels*) { return &Kernels::random; }
constexpr auto table_of(const OptimKernels*) { return &Kernels::optim; }

// The CPU's function for an entry of a group's table.
template <auto kEntry, class Table>
auto cpu_entry() {
  return cpu::kernels().*table_of(static_cast<const Table*>(nullptr)).*kEntry;
}

template <auto kEntry>
struct Queued;

template <class Table, class... Arguments, Status (*Table::*kEntry)(Stream&, Arguments...) noexcept>
struct Queued<kEntry> {
  static Status run(Stream& stream, Arguments... arguments) noexcept try {
    return add(stream, [kept = std::make_tuple(keep(arguments)...)](Stream& cpu) {
      const auto call = [&](const auto&... each) { return cpu_entry<kEntry, Table>()(cpu, given(each)...); };
      return std::apply(call, kept);
    });
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory to keep a kernel's arguments");
  }
};

// The size of a workspace and the schedule of a product depend on host arguments alone: the CPU computes them at
// once.
template <class Table, class Plan, class... Arguments, Plan (*Table::*kEntry)(Stream&, Arguments...) noexcept>
requires(!std::is_same_v<Plan, Status>) struct Queued<kEntry> {
  static Plan run(Stream& stream, Arguments... arguments) noexcept {
    return cpu_entry<kEntry, Table>()(static_cast<DeferredStream&>(stream).cpu(), arguments...);
  }
};

template <auto kEntry>
constexpr auto queued = Queued<kEntry>::run;

const ConvertKernels kConvert = {
    .cast = queued<&ConvertKernels::cast>,
    .fill = queued<&ConvertKernels::fill>,
    .arange = queued<&ConvertKernels::arange>,
};

const ElementwiseKernels kElementwise = {
    .unary = queued<&ElementwiseKernels::unary>,
    .binary = queued<&ElementwiseKernels::binary>,
    .ternary = queued<&ElementwiseKernels::ternary>,
    .compare = queued<&ElementwiseKernels::compare>,
    .clamp = queued<&ElementwiseKernels::clamp>,
    .clamp_backward = queued<&ElementwiseKernels::clamp_backward>,
    .activation = queued<&ElementwiseKernels::activation>,
    .activation_backward = queued<&ElementwiseKernels::activation_backward>,
    .affine = queued<&ElementwiseKernels::affine>,
};

const ReduceKernels kReduce = {
    .sum = queued<&ReduceKernels::sum>,
    .accuracy = queued<&ReduceKernels::accuracy>,
    .min_max = queued<&ReduceKernels::min_max>,
    .min_max_backward = queued<&ReduceKernels::min_max_backward>,
    .index_of = queued<&ReduceKernels::index_of>,
    .one_hot = queued<&ReduceKernels::one_hot>,
    .product = queued<&ReduceKernels::product>,
    .cumulative_sum = queued<&ReduceKernels::cumulative_sum>,
    .cumulative_product = queued<&ReduceKernels::cumulative_product>,
    .cumulative_product_backward = queued<&ReduceKernels::cumulative_product_backward>,
    .vector_norm = queued<&ReduceKernels::vector_norm>,
    .vector_norm_backward = queued<&ReduceKernels::vector_norm_backward>,
    .variance = queued<&ReduceKernels::variance>,
    .variance_backward = queued<&ReduceKernels::variance_backward>,
    .log_sum_exp = queued<&ReduceKernels::log_sum_exp>,
    .log_sum_exp_backward = queued<&ReduceKernels::log_sum_exp_backward>,
};

const GemmKernels kGemm = {
    .schedule = queued<&GemmKernels::schedule>,
    .run = queued<&GemmKernels::run>,
};

const ConvKernels kConv = {
    .workspace = queued<&ConvKernels::workspace>,
    .run = queued<&ConvKernels::run>,
};

const PoolKernels kPool = {
    .max = queued<&PoolKernels::max>,
    .max_backward = queued<&PoolKernels::max_backward>,
    .average = queued<&PoolKernels::average>,
    .average_backward = queued<&PoolKernels::average_backward>,
};

const ResampleKernels kResample = {
    .forward = queued<&ResampleKernels::forward>,
    .backward = queued<&ResampleKernels::backward>,
};

const NormKernels kNorm = {
    .softmax = queued<&NormKernels::softmax>,
    .log_softmax = queued<&NormKernels::log_softmax>,
    .softmax_backward = queued<&NormKernels::softmax_backward>,
    .log_softmax_backward = queued<&NormKernels::log_softmax_backward>,
    .cross_entropy = queued<&NormKernels::cross_entropy>,
    .cross_entropy_backward = queued<&NormKernels::cross_entropy_backward>,
    .nll = queued<&NormKernels::nll>,
    .nll_backward = queued<&NormKernels::nll_backward>,
    .row_norm = queued<&NormKernels::row_norm>,
    .row_norm_backward = queued<&NormKernels::row_norm_backward>,
    .update_running = queued<&NormKernels::update_running>,
};

const AttentionKernels kAttention = {
    .workspace = queued<&AttentionKernels::workspace>,
    .forward = queued<&AttentionKernels::forward>,
    .backward = queued<&AttentionKernels::backward>,
    .rotate = queued<&AttentionKernels::rotate>,
};

const LossKernels kLoss = {
    .loss = queued<&LossKernels::loss>,
    .loss_backward = queued<&LossKernels::loss_backward>,
    .logistic = queued<&LossKernels::logistic>,
    .logistic_backward = queued<&LossKernels::logistic_backward>,
};

const IndexKernels kIndex = {
    .check_range = queued<&IndexKernels::check_range>,
    .gather = queued<&IndexKernels::gather>,
    .scatter_add = queued<&IndexKernels::scatter_add>,
    .triangle = queued<&IndexKernels::triangle>,
};

const SelectKernels kSelect = {
    .order_workspace = queued<&SelectKernels::order_workspace>,
    .order = queued<&SelectKernels::order>,
    .draw_workspace = queued<&SelectKernels::draw_workspace>,
    .draw_categories = queued<&SelectKernels::draw_categories>,
    .nonzero = queued<&SelectKernels::nonzero>,
};

const RandomKernels kRandom = {
    .uniform = queued<&RandomKernels::uniform>,
    .normal = queued<&RandomKernels::normal>,
    .dropout = queued<&RandomKernels::dropout>,
    .permutation = queued<&RandomKernels::permutation>,
};

const OptimKernels kOptim = {
    .grad_norm = queued<&OptimKernels::grad_norm>,
    .sum_norm = queued<&OptimKernels::sum_norm>,
    .accept_gradients = queued<&OptimKernels::accept_gradients>,
    .set_clip_value = queued<&OptimKernels::set_clip_value>,
    .begin_step = queued<&OptimKernels::begin_step>,
    .end_step = queued<&OptimKernels::end_step>,
    .unscale = queued<&OptimKernels::unscale>,
    .clip_by_norm = queued<&OptimKernels::clip_by_norm>,
    .update_scale = queued<&OptimKernels::update_scale>,
    .grad_exponents = queued<&OptimKernels::grad_exponents>,
    .adamw = queued<&OptimKernels::adamw>,
    .adam = queued<&OptimKernels::adam>,
    .lion = queued<&OptimKernels::lion>,
    .rmsprop = queued<&OptimKernels::rmsprop>,
    .sgd = queued<&OptimKernels::sgd>,
    .adafactor = queued<&OptimKernels::adafactor>,
    .average = queued<&OptimKernels::average>,
    .swap_average = queued<&OptimKernels::swap_average>,
    .split_master = queued<&OptimKernels::split_master>,
    .join_master = queued<&OptimKernels::join_master>,
};

}  // namespace

const Kernels& kernels() noexcept {
  static const Kernels table = {
      .convert = kConvert,
      .elementwise = kElementwise,
      .reduce = kReduce,
      .gemm = kGemm,
      .conv = kConv,
      .pool = kPool,
      .resample = kResample,
      .norm = kNorm,
      .attention = kAttention,
      .loss = kLoss,
      .index = kIndex,
      .select = kSelect,
      .random = kRandom,
      .optim = kOptim,
  };
  return table;
}

}  // namespace halftone::deferred

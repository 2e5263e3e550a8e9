// Reductions and running operations along one dimension.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Reduce = htone_status (*)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
using Spread = htone_status (*)(htone_tensor*, int32_t, const int64_t*, double, int32_t, htone_tensor**);
using Along = htone_status (*)(htone_tensor*, int64_t, htone_tensor**);
using Find = htone_status (*)(htone_tensor*, int64_t, int32_t, htone_tensor**);
using FindBoth = htone_status (*)(htone_tensor*, int64_t, int32_t, htone_tensor**, htone_tensor**);

int32_t keepdim(const Call& call) { return call.flag("keepdim") ? 1 : 0; }

auto reducing(Reduce function) {
  return [=](const Call& call) {
    const std::vector<int64_t> dims = call.list("dims");
    return results(compute(function, call.inputs[0], static_cast<int32_t>(dims.size()), dims.data(), keepdim(call)));
  };
}

auto spreading(Spread function) {
  return [=](const Call& call) {
    const std::vector<int64_t> dims = call.list("dims");
    return results(compute(function, call.inputs[0], static_cast<int32_t>(dims.size()), dims.data(),
                           call.number("correction"), keepdim(call)));
  };
}

Tensors vector_norm(const Call& call) {
  const std::vector<int64_t> dims = call.list("dims");
  return results(compute(htone_vector_norm, call.inputs[0], call.number("p"), static_cast<int32_t>(dims.size()),
                         dims.data(), keepdim(call)));
}

Tensors var_mean(const Call& call) {
  const std::vector<int64_t> dims = call.list("dims");
  htone_tensor *variance = nullptr, *mean = nullptr;
  accepted(htone_var_mean(call.inputs[0], static_cast<int32_t>(dims.size()), dims.data(), call.number("correction"),
                          keepdim(call), &variance, &mean));
  return results(Tensor(variance), Tensor(mean));
}

auto running(Along function) {
  return [=](const Call& call) { return results(compute(function, call.inputs[0], call.whole("dim"))); };
}

auto finding(Find function) {
  return [=](const Call& call) { return results(compute(function, call.inputs[0], call.whole("dim"), keepdim(call))); };
}

auto finding_both(FindBoth function) {
  return [=](const Call& call) {
    htone_tensor *values = nullptr, *indices = nullptr;
    accepted(function(call.inputs[0], call.whole("dim"), keepdim(call), &values, &indices));
    return results(Tensor(values), Tensor(indices));
  };
}

}  // namespace

Calls reduce_calls() {
  return {{"sum", reducing(htone_sum)},
          {"mean", reducing(htone_mean)},
          {"amax", reducing(htone_amax)},
          {"amin", reducing(htone_amin)},
          {"any", reducing(htone_any)},
          {"all", reducing(htone_all)},
          {"log_sum_exp", reducing(htone_log_sum_exp)},
          {"var", spreading(htone_var)},
          {"std", spreading(htone_std)},
          {"cumsum", running(htone_cumsum)},
          {"cumprod", running(htone_cumprod)},
          {"prod", reducing(htone_prod)},
          {"vector_norm", vector_norm},
          {"var_mean", var_mean},
          {"softmax", running(htone_softmax)},
          {"log_softmax", running(htone_log_softmax)},
          {"argmax", finding(htone_argmax)},
          {"argmin", finding(htone_argmin)},
          {"max_dim", finding_both(htone_max_dim)},
          {"min_dim", finding_both(htone_min_dim)}};
}

}  // namespace vectors

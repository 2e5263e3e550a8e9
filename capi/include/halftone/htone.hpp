/** @file
 * halftone from C++17: tensors with operators, scopes that end themselves, and modules whose forward is a lambda. It
 * covers no more than programs write often; htone::make and htone::call (handle.hpp) reach every other function. Errors
 * are exceptions of the type htone::Error.
 */
#ifndef HALFTONE_HTONE_HPP
#define HALFTONE_HTONE_HPP

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "halftone/handle.hpp"

namespace htone {

/** @return the dtype of the elements of a std::vector: float, double or int64_t. */
template <typename T>
constexpr htone_dtype dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>,
                "elements are float, double or int64_t");
  if constexpr (std::is_same_v<T, float>) return HTONE_F32;
  if constexpr (std::is_same_v<T, double>) return HTONE_F64;
  return HTONE_I64;
}

/** A handle of a tensor. A copy is a second reference to the same tensor. */
class Tensor : public Handle<htone_tensor> {
 public:
  using Handle<htone_tensor>::Handle;

  /** Makes a tensor of the caller's values; its dtype is that of the values.
   *
   * @param[in] device the device of the tensor.
   * @param[in] shape sizes; {} for a scalar.
   * @param[in] values row-major; as many as the shape has elements, else INVALID_ARGUMENT. Copied.
   * @return the tensor.
   */
  template <typename T>
  [[nodiscard]] static Tensor from(const Device& device, const std::vector<int64_t>& shape,
                                   const std::vector<T>& values) {
    // create_copy cannot know how many values there are; write gets their number and checks it.
    Tensor tensor = make<Tensor>(htone_tensor_create_full, device, dtype_of<T>(), static_cast<int32_t>(shape.size()),
                                 shape.data(), 0.0);
    const T none = T();
    call(htone_tensor_write, tensor, dtype_of<T>(), values.empty() ? &none : values.data(), values.size() * sizeof(T));
    return tensor;
  }

  /** @return the value of a tensor with one element. */
  [[nodiscard]] double item() const {
    double value = 0;
    check(htone_tensor_item(get(), &value));
    return value;
  }

  /** @return the sizes. */
  [[nodiscard]] std::vector<int64_t> shape() const {
    std::vector<int64_t> sizes(HTONE_MAX_NDIM);
    int32_t ndim = 0;
    check(htone_tensor_shape(get(), sizes.data(), HTONE_MAX_NDIM, &ndim));
    sizes.resize(static_cast<size_t>(ndim));
    return sizes;
  }

  /** @return the element type. */
  [[nodiscard]] htone_dtype dtype() const {
    htone_dtype dtype = HTONE_F32;
    check(htone_tensor_dtype(get(), &dtype));
    return dtype;
  }

  /** @return all elements in row-major order, converted to T as htone_cast does: `x.values<float>()`. */
  template <typename T>
  [[nodiscard]] std::vector<T> values() const {
    int64_t count = 0;
    check(htone_tensor_numel(get(), &count));
    std::vector<T> elements(static_cast<size_t>(count));
    if (count > 0) check(htone_tensor_read(get(), dtype_of<T>(), elements.data(), elements.size() * sizeof(T)));
    return elements;
  }
};

/** Arithmetic of two tensors, or of a tensor and a number: htone_add, htone_add_scalar and so on.
 *
 * @param[in] a,b operands.
 * @return a new tensor.
 */
/** @{ */
[[nodiscard]] inline Tensor operator+(const Tensor& a, const Tensor& b) { return make<Tensor>(htone_add, a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, const Tensor& b) { return make<Tensor>(htone_sub, a, b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, const Tensor& b) { return make<Tensor>(htone_mul, a, b); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, const Tensor& b) { return make<Tensor>(htone_div, a, b); }
[[nodiscard]] inline Tensor operator+(const Tensor& a, double b) { return make<Tensor>(htone_add_scalar, a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, double b) { return make<Tensor>(htone_sub_scalar, a, b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, double b) { return make<Tensor>(htone_mul_scalar, a, b); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, double b) { return make<Tensor>(htone_div_scalar, a, b); }
/** @} */

/** Changes all signs.
 *
 * @param[in] a operand.
 * @return htone_neg(a).
 */
[[nodiscard]] inline Tensor operator-(const Tensor& a) { return make<Tensor>(htone_neg, a); }

/** Multiplies matrices.
 *
 * @param[in] a,b operands.
 * @return htone_matmul(a, b).
 */
[[nodiscard]] inline Tensor matmul(const Tensor& a, const Tensor& b) { return make<Tensor>(htone_matmul, a, b); }

/** Stops this thread from recording for autograd until it is destroyed. As every scope, it is destroyed on the thread
 * that made it, and after the scopes that were made later; otherwise it ends as htone_scope_end_later says.
 */
class NoGrad : public Scope {
 public:
  /** Begins the scope: htone_no_grad_begin. */
  NoGrad() : Scope(make<Scope>(htone_no_grad_begin)) {}
};

/** Applies an autocast policy to this thread until it is destroyed; a scope like NoGrad. */
class Autocast : public Scope {
 public:
  /** Begins the scope: htone_autocast_begin.
   *
   * @param[in] policy the scope retains it.
   */
  explicit Autocast(const AutocastPolicy& policy) : Scope(make<Scope>(htone_autocast_begin, policy)) {}
};

/** Makes the first call of this thread that computes a NaN or an infinity fail, until it is destroyed; a scope like
 * NoGrad.
 */
class Anomaly : public Scope {
 public:
  /** Begins the scope: htone_anomaly_begin.
   *
   * @param[in] anomaly the values to look for.
   */
  explicit Anomaly(htone_anomaly anomaly) : Scope(make<Scope>(htone_anomaly_begin, anomaly)) {}
};

/** Makes modules of this thread without memory for their weights until it is destroyed; a scope like NoGrad. */
class DeferredInit : public Scope {
 public:
  /** Begins the scope: htone_deferred_init_begin. */
  DeferredInit() : Scope(make<Scope>(htone_deferred_init_begin)) {}
};

/** Makes a module that applies others one after another: htone_module_create_sequential.
 *
 * @param[in] modules retained.
 * @return the module.
 */
[[nodiscard]] inline Module sequential(const std::vector<Module>& modules) {
  const std::vector<htone_module*> parts = objects(modules);
  return make<Module>(htone_module_create_sequential, parts.size(), parts.data());
}

/** Runs a module with several inputs or outputs: htone_module_forward_n.
 *
 * @param[in] module the module.
 * @param[in] inputs an empty handle is an absent input.
 * @param[in] output_count number of outputs wanted, from the first on.
 * @param[in] policy optional; autocast for this call.
 * @return the outputs.
 */
[[nodiscard]] inline std::vector<Tensor> forward(const Module& module, const std::vector<Tensor>& inputs,
                                                 size_t output_count = 1, htone_autocast_policy* policy = nullptr) {
  const std::vector<htone_tensor*> given = objects(inputs);
  std::vector<htone_tensor*> made(output_count);
  std::vector<Tensor> outputs;
  outputs.reserve(output_count);  // nothing can fail between the call and the handles that own its results
  check(htone_module_forward_n(module.get(), given.size(), given.data(), policy, made.size(), made.data()));
  for (htone_tensor* tensor : made) outputs.emplace_back(tensor);
  return outputs;
}

/** Parts of this header. */
namespace detail {

/** Returns references to the inputs of a forward.
 *
 * @param[in] call the forward.
 * @return an empty handle for each absent input.
 */
inline std::vector<Tensor> shared_inputs(const htone_forward_call& call) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.input_count; ++i) inputs.push_back(share<Tensor>(call.inputs[i]));
  return inputs;
}

}  // namespace detail

/** Runs code inside a callback of the library and turns an exception into a status, with its text as the reason: an
 * Error into its own status, std::bad_alloc into OUT_OF_MEMORY, any other into CALLBACK.
 *
 * @param[in] body called without arguments.
 * @return HTONE_OK, or the status that the callback should return.
 */
template <typename Body>
[[nodiscard]] htone_status guarded(Body&& body) noexcept {
  try {
    body();
    return HTONE_OK;
  } catch (const Error& error) {
    return htone_error_set(error.status() == HTONE_OK ? HTONE_ERROR_CALLBACK : error.status(), error.what());
  } catch (const std::bad_alloc& error) {
    return htone_error_set(HTONE_ERROR_OUT_OF_MEMORY, error.what());
  } catch (const std::exception& error) {
    return htone_error_set(HTONE_ERROR_CALLBACK, error.what());
  } catch (...) {
    return htone_error_set(HTONE_ERROR_CALLBACK, "an exception that is no std::exception");
  }
}

/** Makes a module whose forward is a callable: htone_module_create_custom. Parameters and children are added by
 * htone_module_add_parameter and htone_module_add_child. If the callable throws, the forward fails with CALLBACK and
 * the exception's text; native_code() is the status that guarded returned. A callable that captured a handle of its own
 * module would keep the module alive for ever: use the one that it gets.
 *
 * @param[in] forward called as forward(const Module& module, const Tensor& input), returns a Tensor; or, for several
 *   inputs or outputs, as forward(const Module& module, const std::vector<Tensor>& inputs) with an empty handle for
 *   each absent input, returns all outputs as a std::vector<Tensor>. Copied or moved, destroyed with the module. It
 * runs on several threads at once if they run the module at once.
 * @param[in] options optional; the numbers of inputs and outputs: one each by default.
 * @return the module.
 */
template <typename Forward>
[[nodiscard]] Module custom(Forward forward, const htone_custom_options* options = nullptr) {
  auto kept = std::make_unique<Forward>(std::move(forward));
  const htone_forward_fn run = [](htone_module* module, const htone_forward_call* call, void* user) {
    return guarded([&] {
      Forward& self = *static_cast<Forward*>(user);
      if constexpr (std::is_invocable_v<Forward&, const Module&, const Tensor&>) {
        call->out_tensors[0] = Tensor(self(share<Module>(module), share<Tensor>(call->inputs[0]))).release();
      } else {
        std::vector<Tensor> outputs = self(share<Module>(module), detail::shared_inputs(*call));
        if (outputs.size() != call->output_count) {
          throw Error(HTONE_ERROR_INVALID_ARGUMENT, "forward returned " + std::to_string(outputs.size()) +
                                                        " tensors, expected " + std::to_string(call->output_count));
        }
        for (size_t i = 0; i < outputs.size(); ++i) call->out_tensors[i] = outputs[i].release();
      }
    });
  };
  void (*const destroy)(void*) = [](void* user) { delete static_cast<Forward*>(user); };
  Module module = make<Module>(htone_module_create_custom, run, kept.get(), destroy, options);
  kept.release();  // the module destroys it from now on
  return module;
}

}  // namespace htone

#endif

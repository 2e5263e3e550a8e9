// Rates of a GPU through the C interface, each beside a reference of the same run:
//   gpu_bench PLUGIN [--rounds N]
// matrix products of 8192 x 8192 beside cuBLAS, those of 8-bit floats beside its BF16, passes of AdamW beside a copy,
// convolutions beside the same ones without cuDNN, attention at context 4096 beside the peak of products
// (time_torch_attention.py times PyTorch's), and training steps replayed as a graph beside ordinary ones. Library and
// reference take turns in every round; figures are medians. Prints one line for each figure:
//   NAME VALUE UNIT REFERENCE
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <halftone/htone.hpp>
#include <string>
#include <vector>

namespace {

using namespace htone;

constexpr int64_t kSize = 8192;  // of a square matrix
constexpr int kCallsPerRound = 10;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "gpu_bench: %s failed\n", what);
  std::exit(1);
}

// Seconds of one call; the device finishes all calls before the clock stops.
double seconds_of(const Device& device, const std::function<void()>& call_once) {
  call(htone_device_synchronize, device);
  require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCallsPerRound; ++i) call_once();
  call(htone_device_synchronize, device);
  require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kCallsPerRound;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Medians of the rates of two contenders, in turn; `work` is what one call does.
struct Rates {
  double ours;
  double reference;
};
Rates compare(const Device& device, int rounds, double work, const std::function<void()>& ours, double reference_work,
              const std::function<void()>& reference) {
  std::vector<double> mine;
  std::vector<double> theirs;
  seconds_of(device, ours);
  seconds_of(device, reference);
  for (int round = 0; round < rounds; ++round) {
    mine.push_back(work / seconds_of(device, ours));
    theirs.push_back(reference_work / seconds_of(device, reference));
  }
  return {median(mine), median(theirs)};
}

void print(const char* name, const Rates& rates, double unit, const char* unit_name) {
  std::printf("%s %.6g %s %.6g\n", name, rates.ours / unit, unit_name, rates.reference / unit);
  std::fflush(stdout);
}

Tensor random(const Device& device, htone_dtype dtype, const std::vector<int64_t>& shape) {
  return make<Tensor>(htone_randn, device, dtype, static_cast<int32_t>(shape.size()), shape.data());
}

// Products of cuBLAS on memory of its own, with sums in FP32.
class CublasProduct {
 public:
  explicit CublasProduct(cudaDataType_t type) : type_(type) {
    const size_t bytes = static_cast<size_t>(kSize) * kSize * (type == CUDA_R_32F ? 4 : 2);
    for (void** matrix : {&a_, &b_, &c_}) require(cudaMalloc(matrix, bytes) == cudaSuccess, "cudaMalloc");
    // Zeros would cost less power, and so less time, than numbers.
    std::vector<unsigned char> bits(bytes);
    for (size_t i = 0; i < bytes; ++i) bits[i] = static_cast<unsigned char>(i * 2654435761u >> 13 & 0x3f);
    for (void* matrix : {a_, b_})
      require(cudaMemcpy(matrix, bits.data(), bytes, cudaMemcpyDefault) == cudaSuccess, "copy");
    require(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  }
  ~CublasProduct() {
    cublasDestroy(handle_);
    for (void* matrix : {a_, b_, c_}) cudaFree(matrix);
  }
  CublasProduct(const CublasProduct&) = delete;
  CublasProduct& operator=(const CublasProduct&) = delete;

  void run() {
    const float one = 1;
    const float zero = 0;
    const int n = kSize;
    require(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a_, type_, n, b_, type_, n, &zero, c_, type_,
                         n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS,
            "cublasGemmEx");
  }

 private:
  cudaDataType_t type_;
  cublasHandle_t handle_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
};

void measure_product(const Device& device, int rounds, const char* name, htone_dtype dtype, cudaDataType_t type) {
  const Tensor a = random(device, dtype, {kSize, kSize});
  const Tensor b = random(device, dtype, {kSize, kSize});
  CublasProduct reference(type);
  const double operations = 2.0 * kSize * kSize * kSize;
  print(name,
        compare(
            device, rounds, operations, [&] { const Tensor product = make<Tensor>(htone_matmul, a, b); }, operations,
            [&] { reference.run(); }),
        1e12, "TFLOP/s");
}

// 8-bit floats with their scales, to bf16; the reference is the product of cuBLAS in bf16. `is_layer`: neighbours along
// the depth are neighbours in memory, which GPUs before 10.0 need; else the library copies b first.
void measure_scaled_product(const Device& device, int rounds, const char* name, bool is_layer) {
  const auto stored = [&] {
    return make<Tensor>(htone_cast, random(device, HTONE_BF16, {kSize, kSize}), HTONE_F8E4M3);
  };
  const Tensor a = stored();
  const Tensor rows = stored();
  const Tensor b = is_layer ? make<Tensor>(htone_transpose, rows, 0, 1) : stored();
  const Tensor scale = make<Tensor>(htone_tensor_create_full, device, HTONE_F32, 0, nullptr, 0.5);
  CublasProduct reference(CUDA_R_16BF);
  const double operations = 2.0 * kSize * kSize * kSize;
  const auto multiply = [&] {
    const Tensor product = make<Tensor>(htone_scaled_matmul, a, b, scale, scale, HTONE_BF16, nullptr, nullptr, nullptr);
  };
  print(name, compare(device, rounds, operations, multiply, operations, [&] { reference.run(); }), 1e12, "TFLOP/s");
}

// A copy moves each byte twice.
class DeviceCopy {
 public:
  static constexpr size_t kBytes = size_t{1} << 30;
  DeviceCopy() {
    for (void** block : {&from_, &to_}) require(cudaMalloc(block, kBytes) == cudaSuccess, "cudaMalloc");
  }
  ~DeviceCopy() {
    for (void* block : {from_, to_}) cudaFree(block);
  }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  void run() { require(cudaMemcpyAsync(to_, from_, kBytes, cudaMemcpyDeviceToDevice) == cudaSuccess, "a copy"); }

 private:
  void* from_ = nullptr;
  void* to_ = nullptr;
};

// One linear layer of 124 million weights. A step reads weight, gradient and both moments, and writes three of them.
void measure_adamw(const Device& device, int rounds) {
  constexpr int64_t kFeatures = 11136;
  constexpr double kBytesPerWeight = 28;
  const Module layer = make<Module>(htone_module_create_linear, device, kFeatures, kFeatures, nullptr);
  const Optimizer optimizer = make<Optimizer>(htone_optimizer_create, layer, nullptr);
  const Tensor input = random(device, HTONE_F32, {16, kFeatures});
  const Tensor output = make<Tensor>(htone_module_forward, layer, input, nullptr);
  call(htone_tensor_backward, make<Tensor>(htone_mean, output, 0, nullptr, 0), nullptr, 0);
  DeviceCopy copy;
  print("adamw_f32",
        compare(
            device, rounds, kBytesPerWeight * kFeatures * kFeatures, [&] { call(htone_optimizer_step, optimizer); },
            2.0 * DeviceCopy::kBytes, [&] { copy.run(); }),
        1e9, "GB/s");
}

// A convolution of 256 channels to as many, over 3 x 3 elements of images of 28 x 28, forward, or forward and backward.
class ConvolutionWork {
 public:
  ConvolutionWork(const Device& device, htone_dtype dtype, bool has_backward) : has_backward_(has_backward) {
    input_ = random(device, dtype, {kImages, kChannels, kSide, kSide});
    weight_ = random(device, dtype, {kChannels, kChannels, 3, 3});
    gradient_ = random(device, dtype, {kImages, kChannels, kSide, kSide});
    for (const Tensor* leaf : {&input_, &weight_}) {
      call(htone_tensor_set_requires_grad, *leaf, has_backward ? 1 : 0);
    }
    options_.padding_h = options_.padding_w = 1;
    run();
  }
  void run() const {
    const Tensor output = make<Tensor>(htone_conv2d, input_, weight_, nullptr, &options_);
    if (!has_backward_) return;
    for (const Tensor* leaf : {&input_, &weight_}) call(htone_tensor_zero_grad, *leaf);
    call(htone_tensor_backward, output, gradient_, 0);
  }
  double operations() const {
    return (has_backward_ ? 3 : 1) * 2.0 * kImages * kSide * kSide * kChannels * kChannels * 9;
  }

 private:
  static constexpr int64_t kImages = 64, kChannels = 256, kSide = 28;
  bool has_backward_;
  htone_conv_options options_ = HTONE_CONV_OPTIONS_INIT;
  Tensor input_, weight_, gradient_;
};

// The reference is a device without cuDNN, which a device looks for at its first convolution.
void measure_convolution(const char* plugin, const Device& device, int rounds, htone_dtype dtype, const char* name) {
  const char* chosen = std::getenv("HALFTONE_CUDNN_LIBRARY");
  const std::string before = chosen != nullptr ? chosen : "";
  for (const bool has_backward : {false, true}) {
    const ConvolutionWork ours(device, dtype, has_backward);
    const Context context = make<Context>(htone_context_create, nullptr);
    call(htone_context_load_plugin, context, plugin);
    const Device other = make<Device>(htone_device_create, context, "cuda");
    setenv("HALFTONE_CUDNN_LIBRARY", "", 1);
    const ConvolutionWork reference(other, dtype, has_backward);
    chosen != nullptr ? setenv("HALFTONE_CUDNN_LIBRARY", before.c_str(), 1) : unsetenv("HALFTONE_CUDNN_LIBRARY");
    print((std::string(has_backward ? "conv_step_" : "conv_") + name).c_str(),
          compare(
              device, rounds, ours.operations(), [&] { ours.run(); }, reference.operations(), [&] { reference.run(); }),
          1e12, "TFLOP/s");
  }
}

// Attention of BF16 at context 4096, forward, or forward and backward; the C interface has no backward alone. A causal
// mask halves the work. The reference is the rate of a BF16 product.
struct AttentionWork {
  int64_t depth;
  bool is_causal;
  bool has_backward;
};

void measure_attention(const Device& device, int rounds, const AttentionWork& work) {
  constexpr int64_t kBatch = 4, kContext = 4096, kWidth = 2048;
  const int64_t heads = kWidth / work.depth;
  const std::vector<int64_t> shape = {kBatch, heads, kContext, work.depth};
  const Tensor q = random(device, HTONE_BF16, shape);
  const Tensor k = random(device, HTONE_BF16, shape);
  const Tensor v = random(device, HTONE_BF16, shape);
  for (const Tensor* input : {&q, &k, &v}) call(htone_tensor_set_requires_grad, *input, work.has_backward ? 1 : 0);
  htone_attention_options options = HTONE_ATTENTION_OPTIONS_INIT;
  options.causal = work.is_causal ? 1 : 0;
  const Tensor gradient = random(device, HTONE_BF16, shape);
  CublasProduct reference(CUDA_R_16BF);
  // Two products forward, and five of the same size for the gradients.
  const double products = work.has_backward ? 7 : 2;
  const double operations =
      products * 2.0 * kBatch * heads * kContext * kContext * work.depth * (work.is_causal ? 0.5 : 1);
  const auto attend = [&] {
    const Tensor output = make<Tensor>(htone_scaled_dot_product_attention, q, k, v, nullptr, &options);
    if (!work.has_backward) return;
    for (const Tensor* input : {&q, &k, &v}) call(htone_tensor_zero_grad, *input);
    call(htone_tensor_backward, output, gradient, 0);
  };
  const std::string name = std::string(work.has_backward ? "attention_step" : "attention") + "_bf16_" +
                           std::to_string(work.depth) + (work.is_causal ? "_causal" : "");
  print(name.c_str(),
        compare(device, rounds, operations, attend, 2.0 * kSize * kSize * kSize, [&] { reference.run(); }), 1e12,
        "TFLOP/s");
}

// A training step of a transformer in BF16, and the function that a graph records.
struct TransformerStep {
  TransformerStep(const Device& device, int64_t batch, int64_t context) : rows{batch * context, 50257} {
    htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
    model = make<Module>(htone_module_create_transformer, device, &options);
    optimizer = make<Optimizer>(htone_optimizer_create, model, nullptr);
    policy = make<AutocastPolicy>(htone_autocast_policy_create, HTONE_BF16);
    std::vector<int64_t> numbers(static_cast<size_t>(batch * context));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * 2654435761u % 50257);
    tokens = Tensor::from(device, {batch, context}, numbers);
    targets = Tensor::from(device, {batch * context}, numbers);
  }
  void run() const {
    call(htone_optimizer_zero_grad, optimizer);
    const Tensor output = make<Tensor>(htone_module_forward, model, tokens, policy.get());
    const Tensor logits = make<Tensor>(htone_reshape, output, 2, rows);
    call(htone_tensor_backward, make<Tensor>(htone_cross_entropy, logits, targets, nullptr), nullptr, 0);
    call(htone_optimizer_step, optimizer);
  }
  static htone_status run_recorded(void* step) {
    try {
      static_cast<const TransformerStep*>(step)->run();
    } catch (const Error& error) {
      return error.status();
    }
    return HTONE_OK;
  }

  Module model;
  Optimizer optimizer;
  AutocastPolicy policy;
  Tensor tokens, targets;
  int64_t rows[2];
};

// GPT-2 with 124 million parameters. The ordinary steps are the reference.
void measure_graph(const Device& device, int rounds, const char* name, int64_t batch, int64_t context) {
  TransformerStep step(device, batch, context);
  for (int i = 0; i < 2; ++i) step.run();
  const Graph graph =
      make<Graph>(htone_graph_capture, device, TransformerStep::run_recorded, static_cast<void*>(&step), nullptr);
  print(name,
        compare(
            device, rounds, 1.0, [&] { call(htone_graph_replay, graph); }, 1.0, [&] { step.run(); }),
        1.0, "steps/s");
}

int run(const char* plugin, int rounds) {
  const Context context = make<Context>(htone_context_create, nullptr);
  call(htone_context_load_plugin, context, plugin);
  const Device device = make<Device>(htone_device_create, context, "cuda");
  measure_product(device, rounds, "matmul_bf16", HTONE_BF16, CUDA_R_16BF);
  measure_product(device, rounds, "matmul_f16", HTONE_F16, CUDA_R_16F);
  measure_product(device, rounds, "matmul_f32", HTONE_F32, CUDA_R_32F);
  measure_scaled_product(device, rounds, "matmul_f8e4m3", true);
  measure_scaled_product(device, rounds, "matmul_f8e4m3_rows", false);
  measure_adamw(device, rounds);
  measure_convolution(plugin, device, rounds, HTONE_BF16, "bf16");
  measure_convolution(plugin, device, rounds, HTONE_F32, "f32");
  for (const int64_t depth : {64, 128}) {
    for (const bool is_causal : {false, true}) {
      for (const bool has_backward : {false, true}) measure_attention(device, rounds, {depth, is_causal, has_backward});
    }
  }
  measure_graph(device, rounds, "gpt2_step_graph_1x128", 1, 128);
  measure_graph(device, rounds, "gpt2_step_graph_8x1024", 8, 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_rounds = argc == 4 && std::strcmp(argv[2], "--rounds") == 0;
  const int rounds = has_rounds ? std::atoi(argv[3]) : 7;
  if ((argc != 2 && !has_rounds) || rounds < 1) {
    std::fprintf(stderr, "usage: gpu_bench PLUGIN [--rounds N]\n");
    return 2;
  }
  try {
    return run(argv[1], rounds);
  } catch (const htone::Error& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 1;
  }
}

// cuBLASLt with plain loops. It refuses what cuBLASLt refuses: an algorithm of another problem, too small a workspace,
// memory that is aligned less than the algorithm was told, and types, sizes and orders that have no kernel.
#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "core/number/float4.h"
#include "core/number/float8.h"
#include "core/number/scale8.h"
#include "emulation.h"

namespace emulation {

struct LtContext {};
struct LtDescription {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t of_a = CUBLAS_OP_N;
  cublasOperation_t of_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  const void* argument = nullptr;
  int64_t argument_leading = 0;
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  int32_t mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  int32_t mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const float* scale_d = nullptr;
  float* amax = nullptr;
  bool has_scale_d = false;
  bool has_amax = false;
  int8_t adds_fast = 0;
};
struct LtLayout {
  cudaDataType_t type;
  int64_t rows;
  int64_t columns;
  int64_t leading;
};
struct LtPreference {
  uint64_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d
};

namespace {

// The result of the heuristic, kept in the algorithm.
struct Found {
  uint64_t problem;
  uint32_t alignment[4];
  uint16_t bias_alignment;
  uint16_t argument_alignment;
  uint32_t reductions;
  uint64_t workspace;
};
static_assert(sizeof(Found) <= sizeof(cublasLtMatmulAlgo_t));

constexpr uint64_t kWorkspace = 1024;

double load(const void* data, cudaDataType_t type, int64_t i) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_R_32F:
      return static_cast<const float*>(data)[i];
    case CUDA_R_16F:
      return static_cast<const halftone::Float16*>(data)[i];
    case CUDA_R_16BF:
      return static_cast<const halftone::BFloat16*>(data)[i];
    case CUDA_R_8F_E4M3:
      return static_cast<const halftone::Float8E4M3*>(data)[i];
    case CUDA_R_8F_E5M2:
      return static_cast<const halftone::Float8E5M2*>(data)[i];
    case CUDA_R_4F_E2M1: {
      const uint8_t pair = static_cast<const uint8_t*>(data)[i / 2];
      return halftone::Float4E2M1{static_cast<uint8_t>(i % 2 == 0 ? pair & 15 : pair >> 4)};
    }
    default:
      return 0;
  }
}

void store(void* data, cudaDataType_t type, int64_t i, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = value;
      break;
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = narrow;
      break;
    case CUDA_R_16F:
      static_cast<halftone::Float16*>(data)[i] = halftone::Float16::from(narrow);
      break;
    case CUDA_R_16BF:
      static_cast<halftone::BFloat16*>(data)[i] = halftone::BFloat16::from(narrow);
      break;
    case CUDA_R_8F_E4M3:
      static_cast<halftone::Float8E4M3*>(data)[i] = halftone::Float8E4M3::from(narrow);
      break;
    case CUDA_R_8F_E5M2: {
      const bool is_beyond = std::fabs(narrow) > 57344;  // saturates, as all results of 8 bits
      const float kept = is_beyond ? std::copysign(57344.0f, narrow) : narrow;
      static_cast<halftone::Float8E5M2*>(data)[i] = halftone::Float8E5M2::from(kept);
      break;
    }
    default:
      break;
  }
}

uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); }

uint64_t problem_of(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& c,
                    const LtLayout& d) {
  uint64_t hash = 1;
  for (const int value :
       {int{of.compute}, int{of.of_a}, int{of.of_b}, int{of.epilogue}, int{of.bias_type}, int{of.has_scale_d},
        int{of.has_amax}, int{of.mode_a}, int{of.mode_b}, static_cast<int>(of.argument_leading)}) {
    hash = mix(hash, static_cast<uint64_t>(value));
  }
  for (const LtLayout* layout : {&a, &b, &c, &d}) {
    hash = mix(hash, static_cast<uint64_t>(layout->type));
    for (const int64_t value : {layout->rows, layout->columns, layout->leading}) {
      hash = mix(hash, static_cast<uint64_t>(value));
    }
  }
  return hash;
}

bool is_byte(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

int64_t bytes_in_column(const LtLayout& layout) {
  if (layout.type == CUDA_R_4F_E2M1) return layout.leading / 2;
  const int64_t bytes = is_byte(layout.type) ? 1 : layout.type == CUDA_R_32F ? 4 : 2;
  return layout.leading * bytes;
}

bool has_modes(const LtDescription& of) { return of.mode_a != 0 || of.mode_b != 0; }

// Hopper's GPUs have the modes of 128, but not both operands in blocks of 128 x 128; Blackwell's have the others.
bool has_block_types(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& c,
                     const LtLayout& d) {
  constexpr int kSquare = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  if (of.scale_a == nullptr || of.scale_b == nullptr) return false;
  if (is_byte(d.type) || c.type != d.type || of.has_scale_d || of.has_amax) return false;
  if (of.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F && of.mode_b == of.mode_a) {
    return machine_answers.capability_major >= 9 && is_byte(a.type) && is_byte(b.type);
  }
  if (of.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return false;
  if (of.mode_a >= CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F && of.mode_b >= CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F) {
    const bool are_squares = of.mode_a == kSquare && of.mode_b == kSquare;
    return machine_answers.capability_major == 9 && !are_squares && is_byte(a.type) && is_byte(b.type);
  }
  if (machine_answers.capability_major < 10 || of.mode_a != of.mode_b) return false;
  if (of.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0) return is_byte(a.type) && is_byte(b.type);
  const bool are_halves = a.type == CUDA_R_4F_E2M1 && b.type == CUDA_R_4F_E2M1 && a.rows % 32 == 0;
  return of.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 && are_halves;
}

// The types of c, d and a bias that go with operands of 8 bits. A bias of FP16 comes with a c of FP16, every other one
// is BF16.
bool has_byte_types(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& c,
                    const LtLayout& d) {
  if (!is_byte(b.type) || (a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2)) return false;
  const cudaDataType_t bias = c.type == CUDA_R_16F ? CUDA_R_16F : CUDA_R_16BF;
  if (of.epilogue == CUBLASLT_EPILOGUE_BIAS && of.bias_type != bias) return false;
  if (!is_byte(d.type)) return c.type == d.type && !of.has_scale_d && !of.has_amax;
  if (d.type == CUDA_R_8F_E5M2 && a.type == b.type) return false;
  return c.type == CUDA_R_16BF || c.type == CUDA_R_16F;
}

// 8-bit operands of Hopper's and Ada's GPUs: a transposed and b not, everything in units of 16 bytes.
bool has_byte_kernel(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& c,
                     const LtLayout& d, const uint32_t (&alignment)[4]) {
  if (machine_answers.capability_major < 9 || of.compute != CUBLAS_COMPUTE_32F || of.adds_fast != 0) return false;
  if (of.of_a != CUBLAS_OP_T || of.of_b != CUBLAS_OP_N) return false;
  if (has_modes(of) ? !has_block_types(of, a, b, c, d) : !has_byte_types(of, a, b, c, d)) return false;
  for (const LtLayout* layout : {&a, &b, &c, &d}) {
    if (bytes_in_column(*layout) % 16 != 0) return false;
  }
  for (const uint32_t bytes : alignment) {
    if (bytes < 16) return false;
  }
  return a.rows % 16 == 0 && d.rows % 16 == 0;
}

bool has_bias(const LtDescription& of) { return (of.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
bool has_gelu(const LtDescription& of) { return (of.epilogue & CUBLASLT_EPILOGUE_GELU) != 0; }
bool is_backward_of_gelu(const LtDescription& of) { return of.epilogue == CUBLASLT_EPILOGUE_DGELU; }
bool has_argument(const LtDescription& of) { return (of.epilogue & 128) != 0; }
bool adds_up_a(const LtDescription& of) { return of.epilogue == CUBLASLT_EPILOGUE_BGRADA; }
bool adds_up_b(const LtDescription& of) { return of.epilogue == CUBLASLT_EPILOGUE_BGRADB; }

// A bias and sums of an operand have the type of the result. Rows of an argument begin at multiples of 8 elements.
bool has_end(const LtDescription& of, const LtLayout& d) {
  const bool has_vector = has_bias(of) || adds_up_a(of) || adds_up_b(of);
  if (has_vector && (of.bias == nullptr || of.bias_type != d.type)) return false;
  if (of.epilogue == CUBLASLT_EPILOGUE_DEFAULT || of.epilogue == CUBLASLT_EPILOGUE_BIAS) return true;
  if (!machine_answers.has_rare_ends || d.type == CUDA_R_64F) return false;
  const bool has_room = of.argument_leading >= d.rows && of.argument_leading % 8 == 0;
  return !has_argument(of) || (of.argument != nullptr && has_room);
}

bool has_kernel(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& c, const LtLayout& d) {
  const bool is_like = c.type == d.type && c.rows == d.rows && c.columns == d.columns && c.leading >= c.rows;
  if (a.type != b.type || !is_like) return false;
  const bool is_wide = a.type == CUDA_R_64F;
  if (is_wide != (d.type == CUDA_R_64F) || is_wide != (of.compute == CUBLAS_COMPUTE_64F)) return false;
  return (d.type == a.type || d.type == CUDA_R_32F) && has_end(of, d);
}

struct Sizes {
  int64_t m, n, k;
  bool fit;
};

Sizes sizes_of(const LtDescription& of, const LtLayout& a, const LtLayout& b, const LtLayout& d) {
  const int64_t m = of.of_a == CUBLAS_OP_N ? a.rows : a.columns;
  const int64_t k = of.of_a == CUBLAS_OP_N ? a.columns : a.rows;
  const int64_t inner = of.of_b == CUBLAS_OP_N ? b.rows : b.columns;
  const int64_t n = of.of_b == CUBLAS_OP_N ? b.columns : b.rows;
  const bool leads = a.leading >= a.rows && b.leading >= b.rows && d.leading >= d.rows;
  return {m, n, k, leads && inner == k && d.rows == m && d.columns == n};
}

int64_t place(const LtLayout& layout, cublasOperation_t operation, int64_t row, int64_t column) {
  return operation == CUBLAS_OP_N ? row + column * layout.leading : column + row * layout.leading;
}

struct Call {
  LtDescription of;
  LtLayout layout_a, layout_b, layout_c, layout_d;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  double alpha, beta;
  uint32_t reductions;
};

double rounded_to(cudaDataType_t type, double value) {
  double memory = 0;
  store(&memory, type, 0, value);
  return load(&memory, type, 0);
}

// The scale of element (depth, line) of an operand whose columns are lines of `depth` codes, in the order that
// cuBLASLt's documentation gives for the mode.
double block_scale(int32_t mode, const void* scales, const LtLayout& layout, int64_t depth, int64_t line) {
  const auto blocks = [&](int64_t size) { return (layout.rows + size - 1) / size; };
  const auto in_fours = [](int64_t count) { return (count + 3) / 4 * 4; };
  const auto* floats = static_cast<const float*>(scales);
  const auto* bytes = static_cast<const uint8_t*>(scales);
  const auto in_tiles = [&](int64_t size) {
    const int64_t block = depth / size;
    const uint8_t* tile = bytes + (line / 128 * (in_fours(blocks(size)) / 4) + block / 4) * 512;
    return tile[(line % 32) * 16 + (line % 128) / 32 * 4 + block % 4];
  };
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
      return halftone::Float8E4M3{in_tiles(16)};
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
      return halftone::ScaleE8M0{in_tiles(32)};
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
      return floats[line];
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
      return floats[depth / 128 * in_fours(layout.columns) + line];
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
      return floats[line / 128 * in_fours(blocks(128)) + depth / 128];
    default:
      return 1;
  }
}

// A sum over the depths [begin, end), in FP32, or in double for f64.
double sum_of(const Call& call, int64_t begin, int64_t end, int64_t i, int64_t j) {
  float narrow = 0;
  double wide = 0;
  for (int64_t p = begin; p < end; ++p) {
    const double x = load(call.a, call.layout_a.type, place(call.layout_a, call.of.of_a, i, p)) *
                     block_scale(call.of.mode_a, call.of.scale_a, call.layout_a, p, i);
    const double y = load(call.b, call.layout_b.type, place(call.layout_b, call.of.of_b, p, j)) *
                     block_scale(call.of.mode_b, call.of.scale_b, call.layout_b, p, j);
    narrow = std::fma(static_cast<float>(x), static_cast<float>(y), narrow);
    wide = std::fma(x, y, wide);
  }
  return call.layout_a.type == CUDA_R_64F ? wide : narrow;
}

// In one part, or in two whose sums are rounded to the type of the result, if the caller allows that.
double sum_of(const Call& call, const Sizes& sizes, int64_t i, int64_t j) {
  constexpr uint32_t kRounding = CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  if ((call.reductions & kRounding) == 0) return sum_of(call, 0, sizes.k, i, j);
  const int64_t half = sizes.k / 2;
  const cudaDataType_t type = call.layout_d.type;
  if (is_byte(type)) return sum_of(call, 0, sizes.k, i, j);
  return rounded_to(type, sum_of(call, 0, half, i, j)) + rounded_to(type, sum_of(call, half, sizes.k, i, j));
}

// GELU by tanh and its derivative in plain FP32, which lose the precision of the lower tail.
double tanh_of_gelu(float x) { return std::tanh(0.79788456f * (x + 0.044715f * x * x * x)); }
double gelu_of(float x) { return 0.5f * x * (1.0f + static_cast<float>(tanh_of_gelu(x))); }
double slope_of_gelu(float x) {
  const auto t = static_cast<float>(tanh_of_gelu(x));
  const float inner = 0.79788456f * (1.0f + 3 * 0.044715f * x * x);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

// The value behind the sums, the bias and the added matrix. The argument of GELU is stored, or read in backward.
double ended(const Call& call, int64_t i, int64_t j, double value) {
  const int64_t at = i + j * call.of.argument_leading;
  if (is_backward_of_gelu(call.of)) {
    return value * slope_of_gelu(static_cast<float>(load(call.of.argument, call.layout_d.type, at)));
  }
  if (!has_gelu(call.of)) return value;
  if (has_argument(call.of)) store(const_cast<void*>(call.of.argument), call.layout_d.type, at, value);
  return gelu_of(static_cast<float>(value));
}

// The sums of op(a)'s rows or of op(b)'s columns.
void add_up(const Call& call, const Sizes& sizes) {
  const bool is_a = adds_up_a(call.of);
  const LtLayout& layout = is_a ? call.layout_a : call.layout_b;
  for (int64_t i = 0; i < (is_a ? sizes.m : sizes.n); ++i) {
    float sum = 0;
    for (int64_t p = 0; p < sizes.k; ++p) {
      const int64_t at = is_a ? place(layout, call.of.of_a, i, p) : place(layout, call.of.of_b, p, i);
      sum += static_cast<float>(load(is_a ? call.a : call.b, layout.type, at));
    }
    store(const_cast<void*>(call.of.bias), call.of.bias_type, i, sum);
  }
}

double scale_at(const void* scale) { return scale == nullptr ? 1 : *static_cast<const float*>(scale); }

void compute(const Call& call) {
  const Sizes sizes = sizes_of(call.of, call.layout_a, call.layout_b, call.layout_d);
  const bool has_factors = !has_modes(call.of);
  const double factor = has_factors ? scale_at(call.of.scale_a) * scale_at(call.of.scale_b) : 1;
  const double scale = call.alpha * factor;
  double amax = 0;
  if (adds_up_a(call.of) || adds_up_b(call.of)) add_up(call, sizes);
  for (int64_t j = 0; j < sizes.n; ++j) {
    for (int64_t i = 0; i < sizes.m; ++i) {
      const int64_t at = i + j * call.layout_d.leading;
      double value = scale * sum_of(call, sizes, i, j);
      if (has_bias(call.of)) value += load(call.of.bias, call.of.bias_type, i);
      if (call.beta != 0) value += call.beta * load(call.c, call.layout_c.type, i + j * call.layout_c.leading);
      value = ended(call, i, j, value);
      amax = std::fmax(amax, std::fabs(value));
      store(call.d, call.layout_d.type, at, value * scale_at(call.of.scale_d));
    }
  }
  if (call.of.amax != nullptr) *call.of.amax = static_cast<float>(amax);
}

// At most 16 bytes, which is what loads have at the most.
uint16_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return address % 16 == 0 ? 16 : static_cast<uint16_t>(address & (~address + 1));
}

bool is_aligned(const void* data, uint32_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

double scale_of(const LtDescription& of, const void* value) {
  return of.scale == CUDA_R_64F ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

template <class T>
cublasStatus_t take(T& out, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&out, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

}  // namespace emulation

using namespace emulation;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  *out = new LtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
  *out = new LtDescription{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(description->of_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(description->of_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(description->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return take(description->argument, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return take(description->argument_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return take(description->scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return take(description->scale_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return take(description->mode_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return take(description->mode_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
      description->has_scale_d = true;
      return take(description->scale_d, value, bytes);
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER:
      description->has_amax = true;
      return take(description->amax, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return take(description->adds_fast, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *out = new LtLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  *out = new LtPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return take(preference->workspace, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return take(preference->reductions, value, bytes);
  return take(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  *count = 0;
  const bool fits = most > 0 && sizes_of(*description, *a, *b, *d).fit && preference->workspace >= kWorkspace;
  const bool is_found = has_modes(*description) || is_byte(a->type)
                            ? has_byte_kernel(*description, *a, *b, *c, *d, preference->alignment)
                            : has_kernel(*description, *a, *b, *c, *d);
  if (!fits || !is_found) return CUBLAS_STATUS_NOT_SUPPORTED;
  Found found = {.problem = problem_of(*description, *a, *b, *c, *d),
                 .alignment = {},
                 .bias_alignment = alignment_of(description->bias),
                 .argument_alignment = alignment_of(description->argument),
                 .reductions = preference->reductions,
                 .workspace = kWorkspace};
  std::memcpy(found.alignment, preference->alignment, sizeof found.alignment);
  *results = {};
  std::memcpy(&results->algo, &found, sizeof found);
  results->workspaceSize = kWorkspace;
  *count = 1;
  ++counts.searches;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  Found found;
  std::memcpy(&found, algorithm, sizeof found);
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!is_aligned(pointers[i], found.alignment[i])) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!is_aligned(description->bias, found.bias_alignment)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_aligned(description->argument, found.argument_alignment)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_same = found.problem == problem_of(*description, *layout_a, *layout_b, *layout_c, *layout_d);
  if (!is_same || workspace == nullptr || workspace_bytes < found.workspace) return CUBLAS_STATUS_INVALID_VALUE;
  // A workspace is written, so that memory that is too small shows.
  const Call call = {*description,
                     *layout_a,
                     *layout_b,
                     *layout_c,
                     *layout_d,
                     a,
                     b,
                     c,
                     d,
                     scale_of(*description, alpha),
                     scale_of(*description, beta),
                     found.reductions};
  const cudaError_t error = enqueue(stream, [=] {
    std::memset(workspace, 0xff, workspace_bytes);
    compute(call);
  });
  ++counts.products;
  if (has_modes(*description)) ++counts.block_products;
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

// The emulated cuBLASLt refuses the ends of a product that cuBLASLt refuses.
#include <cublasLt.h>
#include <gtest/gtest.h>

namespace {

// d [16, 8] = a [16, 4] b [4, 8] in FP32, column-major.
class EmulatedCublasLt : public testing::Test {
 protected:
  EmulatedCublasLt() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&a_, CUDA_R_32F, 16, 4, 16);
    cublasLtMatrixLayoutCreate(&b_, CUDA_R_32F, 4, 8, 4);
    cublasLtMatrixLayoutCreate(&d_, CUDA_R_32F, 16, 8, 16);
    cublasLtMatmulPreferenceCreate(&preference_);
    const uint64_t workspace = 1 << 20;
    cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                         sizeof workspace);
  }
  ~EmulatedCublasLt() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cublasLtMatmulPreferenceDestroy(preference_);
    for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(description_);
    cublasLtDestroy(handle_);
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  bool has_algorithm() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, description_, a_, b_, d_, d_, preference_, 1, &found_, &count) ==
               CUBLAS_STATUS_SUCCESS &&
           count == 1;
  }
  void* memory() { return memory_; }
  void* odd_memory() { return reinterpret_cast<char*>(memory_) + 4; }
  // All operands share the memory: only the checks matter.
  cublasStatus_t multiply() {
    const float one = 1;
    return cublasLtMatmul(handle_, description_, &one, memory_, a_, memory_, b_, &one, memory_, d_, memory_, d_,
                          &found_.algo, workspace_, sizeof workspace_, stream_);
  }

 private:
  alignas(256) float memory_[256] = {};
  alignas(256) float workspace_[256] = {};
  cudaStream_t stream_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_ = {};
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

TEST_F(EmulatedCublasLt, TakesRowsOfAnArgumentAtMultiplesOfEightAlone) {
  for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_DGELU}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory());
    for (const int64_t leading : {16, 24, 800}) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
      EXPECT_TRUE(has_algorithm()) << leading;
    }
    for (const int64_t leading : {0, 8, 15, 17, 20}) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
      EXPECT_FALSE(has_algorithm()) << leading;
    }
  }
}

TEST_F(EmulatedCublasLt, WantsMemoryForWhatAnEndReadsOrWrites) {
  for (const cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_BGRADA,
        CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_DGELU}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{16});
    EXPECT_FALSE(has_algorithm()) << epilogue;
  }
}

TEST_F(EmulatedCublasLt, AddsUpAnOperandInTheTypeOfTheResultAlone) {
  for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory());
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    EXPECT_TRUE(has_algorithm());
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
    EXPECT_FALSE(has_algorithm());
  }
}

// An algorithm was found for sums at a multiple of 16 bytes.
TEST_F(EmulatedCublasLt, RefusesMemoryThatIsAlignedLessThanTheAlgorithmWasTold) {
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADA);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory());
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
  ASSERT_TRUE(has_algorithm());
  EXPECT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, odd_memory());
  EXPECT_EQ(multiply(), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace

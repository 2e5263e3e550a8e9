#include "hardware.h"

namespace halftone_analyze {
namespace {

constexpr Storage kFp32[] = {{"FP32", 4, 0, 4, 8}};
constexpr Storage kBf16[] = {{"FP32 masters (HTONE_MASTER_FULL), FP32 gradients", 4, 2, 4, 8},
                             {"FP32 masters (HTONE_MASTER_FULL), 16-bit gradients", 4, 2, 2, 8},
                             {"split masters (HTONE_MASTER_SPLIT), 16-bit gradients", 4, 0, 2, 8},
                             {"no masters (HTONE_MASTER_NONE), 16-bit gradients", 2, 0, 2, 8}};
constexpr Storage kFp16[] = {{"FP32 masters (HTONE_MASTER_FULL), FP32 gradients", 4, 2, 4, 8},
                             {"FP32 masters (HTONE_MASTER_FULL), 16-bit gradients", 4, 2, 2, 8},
                             {"no masters (HTONE_MASTER_NONE), 16-bit gradients", 2, 0, 2, 8}};

constexpr AdviceLine kNoRecipe = {"none: autocast alone", "there are no instructions for products in 8 bits",
                                  "halftone/recipe.h; the source of the speed"};
constexpr AdviceLine kNoRecipeOnCpu = {"none",
                                       "the CPU widens codes of 8 bits before it multiplies, which gains no time",
                                       "halftone/recipe.h, halftone/fp8.h"};
constexpr AdviceLine kDynamic = {"dynamic (htone_grad_scaler)", "gradients below 2^-25 become 0 in FP16",
                                 "IEEE 754 binary16; docs/precision-tools.md"};
constexpr AdviceLine kNoScaling = {"none", "BF16 has the exponents of FP32", "docs/formats.md"};
constexpr AdviceLine kNoScalingInFp32 = {"none", "FP32 holds gradients down to 1.4e-45", "IEEE 754 binary32"};
constexpr AdviceLine kFloatAlone = {
    "fp32", "no instruction computes in 16 bits; bf16 halves the memory of activations and gains no time",
    "Intel 64 and IA-32 Architectures Software Developer's Manual"};
constexpr AdviceLine kWidened = {"1 times in BF16", "BF16 is widened to FP32 and multiplied as that",
                                 "no public figure; halftone/devices.h, htone_cpu_features"};
constexpr AdviceLine kAny = {"any; measure with halftone-analyze shapes",
                             "no size is excluded, and the gain of aligned ones depends on the shape",
                             "no public figure"};
constexpr std::string_view kMatrixGuide =
    "NVIDIA, Matrix Multiplication Background User's Guide, Tensor Core requirements";
constexpr AdviceLine kEight = {"multiples of 8", "16 bytes of FP16: other sizes compute less efficiently",
                               kMatrixGuide};

constexpr AdviceLine kHopperFormat = {"bf16, and for linear layers e4m3 with e5m2 gradients",
                                      "products in FP8 have twice the peak of BF16",
                                      "NVIDIA H100 and H200 datasheets; OCP 8-bit Floating Point Specification 1.0"};
constexpr AdviceLine kHopperRecipe = {
    "HTONE_RECIPE_CURRENT", "scales from the tensor itself need no history; HTONE_RECIPE_DELAYED reads tensors once",
    "arXiv:2209.05433; halftone/recipe.h"};
constexpr AdviceLine kHopperAlignment = {"multiples of 16; 64 for BF16",
                                         "FP8 products need n and k in multiples of 16 on GPUs",
                                         "halftone/fp8.h; NVIDIA, cuBLAS documentation, FP8 data types"};
constexpr AdviceLine kHopperSpeed = {
    "15 times in BF16, 30 in FP8", "peaks without sparsity, half of those with it: BF16 989 TFLOP/s, FP8 1979; FP32 67",
    "NVIDIA H100 and H200 datasheets"};
constexpr AdviceLine kScalesOfCodes = {"none", "BF16 has the exponents of FP32, and FP8 has scales of its own",
                                       "halftone/recipe.h"};

constexpr Hardware kHardware[] = {
    {.name = "v100",
     .description = "NVIDIA V100 SXM2",
     .format = {"fp16", "its tensor cores multiply FP16 and have no BF16", "NVIDIA V100 datasheet"},
     .recipe = kNoRecipe,
     .scaling = kDynamic,
     .alignment = kEight,
     .speed = {"8.0 times", "peaks: FP16 on tensor cores 125 TFLOP/s, FP32 15.7", "NVIDIA V100 datasheet"},
     .speed_from = 125 / 15.7,
     .speed_to = 125 / 15.7,
     .storage = kFp16},
    {.name = "t4",
     .description = "NVIDIA T4",
     .format = {"fp16", "its tensor cores multiply FP16 and have no BF16", "NVIDIA T4 datasheet"},
     .recipe = kNoRecipe,
     .scaling = kDynamic,
     .alignment = kEight,
     .speed = {"8.0 times", "peaks: FP16 on tensor cores 65 TFLOP/s, FP32 8.1", "NVIDIA T4 datasheet"},
     .speed_from = 65 / 8.1,
     .speed_to = 65 / 8.1,
     .storage = kFp16},
    {.name = "a100",
     .description = "NVIDIA A100",
     .format = {"bf16", "as fast as FP16 there, and needs no loss scaling", "NVIDIA A100 datasheet"},
     .recipe = kNoRecipe,
     .scaling = kNoScaling,
     .alignment = {"multiples of 64", "128 bytes of BF16; multiples of 8 at least", kMatrixGuide},
     .speed = {"16 times", "peaks: BF16 312 TFLOP/s without sparsity, FP32 19.5; FP32 in TF32 156",
               "NVIDIA A100 datasheet"},
     .speed_from = 312 / 19.5,
     .speed_to = 312 / 19.5,
     .storage = kBf16},
    {.name = "h100",
     .description = "NVIDIA H100 SXM",
     .format = kHopperFormat,
     .recipe = kHopperRecipe,
     .scaling = kScalesOfCodes,
     .alignment = kHopperAlignment,
     .speed = kHopperSpeed,
     .speed_from = 989.5 / 67,
     .speed_to = 1979.0 / 67,
     .storage = kBf16},
    {.name = "h200",
     .description = "NVIDIA H200 SXM",
     .format = kHopperFormat,
     .recipe = kHopperRecipe,
     .scaling = kScalesOfCodes,
     .alignment = kHopperAlignment,
     .speed = kHopperSpeed,
     .speed_from = 989.5 / 67,
     .speed_to = 1979.0 / 67,
     .storage = kBf16},
    {.name = "b200",
     .description = "NVIDIA B200 of an HGX B200",
     .format = {"bf16, and for linear layers e4m3 with a scale for each 32 elements",
                "scales of blocks are in its tensor cores, and lose less to outliers",
                "NVIDIA Blackwell datasheet; OCP Microscaling Formats 1.0"},
     .recipe = {"HTONE_RECIPE_MXFP8", "HTONE_RECIPE_NVFP4 has twice its peak, but 4 bits; compare losses first",
                "arXiv:2310.10537; arXiv:2509.25149; halftone/recipe.h"},
     .scaling = {"none", "BF16 has the exponents of FP32, and codes have scales of their own", "halftone/recipe.h"},
     .alignment = {"multiples of 32; 64 for BF16", "a scale belongs to 32 elements", "OCP Microscaling Formats 1.0"},
     .speed = {"30 times in BF16, 60 in MXFP8, 120 in NVFP4",
               "peaks without sparsity: BF16 2250 TFLOP/s, FP8 4500, FP4 9000; FP32 75", "NVIDIA Blackwell datasheet"},
     .speed_from = 2250.0 / 75,
     .speed_to = 4500.0 / 75,
     .storage = kBf16},
    {.name = "cpu",
     .description = "CPU without AVX2",
     .format = kFloatAlone,
     .recipe = kNoRecipeOnCpu,
     .scaling = kNoScalingInFp32,
     .alignment = kAny,
     .speed = kWidened,
     .speed_from = 1,
     .speed_to = 1,
     .storage = kFp32},
    {.name = "avx2",
     .description = "CPU with AVX2",
     .format = kFloatAlone,
     .recipe = kNoRecipeOnCpu,
     .scaling = kNoScalingInFp32,
     .alignment = kAny,
     .speed = kWidened,
     .speed_from = 1,
     .speed_to = 1,
     .storage = kFp32},
    {.name = "avx512",
     .description = "CPU with AVX-512, without AVX512_BF16",
     .format = kFloatAlone,
     .recipe = kNoRecipeOnCpu,
     .scaling = kNoScalingInFp32,
     .alignment = kAny,
     .speed = kWidened,
     .speed_from = 1,
     .speed_to = 1,
     .storage = kFp32},
    {.name = "avx512_bf16",
     .description = "CPU with AVX-512 and AVX512_BF16",
     .format = {"bf16", "VDPBF16PS adds 32 products of BF16 where an FP32 instruction adds 16",
                "Intel 64 and IA-32 Architectures Software Developer's Manual, VDPBF16PS"},
     .recipe = kNoRecipeOnCpu,
     .scaling = kNoScaling,
     .alignment = kAny,
     .speed = {"1 to 2 times in BF16",
               "twice the products by instruction, but some CPUs run it at half the rate; the "
               "library uses it where it measures that it is faster",
               "the same; no public figure of its rate for all CPUs; halftone/devices.h, htone_cpu_features"},
     .speed_from = 1,
     .speed_to = 2,
     .storage = kBf16},
    {.name = "amx",
     .description = "CPU with AMX and BF16 tiles",
     .format = {"bf16", "TDPBF16PS multiplies tiles of BF16",
                "Intel 64 and IA-32 Architectures Software Developer's Manual"},
     .recipe = kNoRecipeOnCpu,
     .scaling = kNoScaling,
     .alignment = kAny,
     .speed =
         {"1 to 2 times in BF16; the peak of AMX is 16 times",
          "1024 operations a cycle by AMX, 64 by two FP32 units of AVX-512; this library has no kernels for AMX and "
          "uses AVX512_BF16",
          "Intel 64 and IA-32 Architectures Optimization Reference Manual, AMX"},
     .speed_from = 1,
     .speed_to = 2,
     .storage = kBf16},
};

}  // namespace

std::span<const Hardware> all_hardware() { return kHardware; }

}  // namespace halftone_analyze

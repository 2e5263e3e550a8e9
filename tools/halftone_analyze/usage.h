// The text of halftone-analyze --help.
#pragma once

namespace halftone_analyze {

constexpr const char* kUsage =
    "usage: halftone-analyze formats [--json]\n"
    "       halftone-analyze sum --format FORMAT --value NUMBER --count N [--method METHOD] [--json]\n"
    "       halftone-analyze file FILE [--format FORMAT]... [--tensor PATTERN] [--json]\n"
    "       halftone-analyze log RUN.jsonl [--format FORMAT]... [--scale S]... [--tensor PATTERN] [--json]\n"
    "       halftone-analyze shapes M N K [--dtype DTYPE] [--json]\n"
    "       halftone-analyze advice [--device NAME] [--json]\n"
    "\n"
    "Shows what formats of few digits do to numbers.\n"
    "\n"
    "formats prints the range and the digits of each format, and the relative errors of rounding to it, for numbers "
    "of\n"
    "five ranges. sum adds one number many times, as the arithmetic of a format does. file prints, for each float\n"
    "tensor of a safetensors file, its magnitudes and what rounding to formats would lose. log prints, for the record\n"
    "of a run, tensors that lose or overflow, and what other formats and scales would lose of the newest sample of "
    "each\n"
    "tensor, without training again. shapes measures, for some\n"
    "seconds, how fast the CPU multiplies [M, K] by [K, N], and sizes rounded up to multiples of 8, 16, 32 and 64.\n"
    "advice prints formats, recipes and more for kinds of GPUs and CPUs with reasons and sources, and compares the "
    "one\n"
    "for this CPU with a measurement.\n"
    "\n"
    "  --format FORMAT    fp64, fp32, tf32, fp16, bf16, e4m3, e5m2 or e2m1; of file and log several times, default "
    "fp16, "
    "bf16,\n"
    "                     e4m3 and e5m2\n"
    "  --method METHOD    naive, pairwise, kahan, neumaier or exact; default naive\n"
    "  --value NUMBER     the number that is added\n"
    "  --count N          how many times, 0 to 1000000000; each takes 8 bytes of memory\n"
    "  --tensor PATTERN   only tensors whose names fit, such as '*.weight': * is any text, ? any character\n"
    "  --scale S          a loss scale for gradients, 2^-62 to 2^62; several times; default the scale of the record\n"
    "  --dtype DTYPE      of the matrices: fp32, bf16, fp16 or e4m3; default fp32\n"
    "  --device NAME      this, v100, t4, a100, h100, h200, b200, cpu, avx2, avx512, avx512_bf16, amx; default all\n"
    "  --json             print one object in JSON; a number that is not finite is null\n"
    "  --help, --version\n";

}  // namespace halftone_analyze

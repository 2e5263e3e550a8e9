#include "cpu/kernel_groups.h"
#include "cpu/resample/entries.h"

namespace halftone::cpu {

const ResampleKernels kResampleKernels = {
    .forward = resample,
    .backward = resample_backward,
    .grid_sample = grid_sample,
    .grid_sample_backward = grid_sample_backward,
    .grid_backward = grid_backward,
};

}  // namespace halftone::cpu

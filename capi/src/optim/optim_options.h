// The checks of the fields that the options of all optimizers have. Used by the sources that make optimizers.
#pragma once

#include "base/arguments.h"
#include "optim/group_setting.h"
#include "optim/grouped_optimizer.h"

namespace halftone::capi {

static_assert(static_cast<int32_t>(optim::Master::kFull) == HTONE_MASTER_FULL);
static_assert(static_cast<int32_t>(optim::Master::kSplit) == HTONE_MASTER_SPLIT);
static_assert(static_cast<int32_t>(optim::Master::kNone) == HTONE_MASTER_NONE);

// NaN fails every comparison, so each of these checks refuses it.
inline void require_setting(bool holds, const char* field, double value, const char* expected) {
  if (!holds) fail(Code::kInvalidArgument, "options", "options.%s=%g, expected %s", field, value, expected);
}
inline void require_not_negative(const char* field, double value) {
  require_setting(std::isfinite(value) && value >= 0.0, field, value, "a finite number of at least 0");
}
inline void require_fraction(const char* field, double value) {
  require_setting(value >= 0.0 && value < 1.0, field, value, "a number in [0, 1)");
}

// Checks all numbers of a group. Their names are those of the options' fields.
template <class Rule>
typename Rule::Group within_bounds(const typename Rule::Group& group) {
  for (const auto& setting : Rule::kSettings) {
    const double value = setting.of(group);
    require_setting(optim::is_within(value, setting.bounds), setting.name, value, optim::text_of(setting.bounds));
  }
  return group;
}

inline void require_dtype(bool holds, const char* field, htone_dtype dtype, const char* expected) {
  if (holds) return;
  if (!is_valid(static_cast<DType>(dtype))) {
    fail(Code::kInvalidArgument, "options",
         "options.%s=%d is no dtype, expected %s; fill options with the _init function of their own type", field, dtype,
         expected);
  }
  fail(Code::kInvalidArgument, "options", "options.%s=%s, expected %s", field, htone_dtype_name(dtype), expected);
}

// The dtypes of moments; f32 for options without them.
template <class Options>
DType checked_moment1_dtype(const Options& options) {
  if constexpr (requires { options.moment1_dtype; }) {
    const htone_dtype dtype = options.moment1_dtype;
    require_dtype(dtype == HTONE_F32 || dtype == HTONE_BF16 || dtype == HTONE_I8, "moment1_dtype", dtype,
                  "f32, bf16 or i8");
    return static_cast<DType>(dtype);
  }
  return DType::kF32;
}
template <class Options>
DType checked_moment2_dtype(const Options& options) {
  if constexpr (requires { options.moment2_dtype; }) {
    const htone_dtype dtype = options.moment2_dtype;
    require_dtype(dtype == HTONE_F32 || dtype == HTONE_U8, "moment2_dtype", dtype, "f32 or u8");
    return static_cast<DType>(dtype);
  }
  return DType::kF32;
}

// Options without it have no 8-bit codes.
template <class Options>
int64_t checked_min_8bit_size(const Options& options) {
  if constexpr (requires { options.min_8bit_size; }) {
    const int64_t size = options.min_8bit_size;
    require_setting(size >= 0, "min_8bit_size", static_cast<double>(size), "at least 0");
    return size;
  }
  return 0;
}

// The fields about storage.
template <class Options>
optim::Precision checked_precision(const Options& options) {
  const htone_dtype compute = options.compute_dtype;
  const htone_dtype grad = options.grad_dtype;
  const htone_master_storage master = options.master_storage;
  require_dtype(compute == HTONE_F32 || compute == HTONE_BF16 || compute == HTONE_F16, "compute_dtype", compute,
                "f32, bf16 or f16");
  require_dtype(grad == HTONE_F32 || grad == compute, "grad_dtype", grad, "f32 or compute_dtype");
  const DType moment1 = checked_moment1_dtype(options);
  require_setting(master >= HTONE_MASTER_FULL && master <= HTONE_MASTER_NONE, "master_storage", master,
                  "one of HTONE_MASTER_...");
  require_setting(master != HTONE_MASTER_SPLIT || compute == HTONE_BF16, "master_storage", master,
                  "another than HTONE_MASTER_SPLIT where compute_dtype is not bf16");
  require_setting(master != HTONE_MASTER_NONE || compute != HTONE_F32, "master_storage", master,
                  "another than HTONE_MASTER_NONE where compute_dtype is f32");
  return {.compute_dtype = static_cast<DType>(compute),
          .grad_dtype = static_cast<DType>(grad),
          .moment1_dtype = moment1,
          .master = static_cast<optim::Master>(master),
          .moment2_dtype = checked_moment2_dtype(options),
          .min_8bit_size = checked_min_8bit_size(options)};
}

// Throws INVALID_ARGUMENT naming the first field in which the storage that a group was added with differs from `asked`.
inline void require_same_storage(const optim::Precision& asked, const optim::Precision& kept) {
  const auto require_kept = [](const char* field, DType given, DType own) {
    if (given == own) return;
    fail(Code::kInvalidArgument, "options", "options.%s=%s, expected the group's %s, since its storage stays", field,
         name_of(given), name_of(own));
  };
  require_kept("compute_dtype", asked.compute_dtype, kept.compute_dtype);
  require_kept("grad_dtype", asked.grad_dtype, kept.grad_dtype);
  require_kept("moment1_dtype", asked.moment1_dtype, kept.moment1_dtype);
  require_kept("moment2_dtype", asked.moment2_dtype, kept.moment2_dtype);
  const auto require_number = [](const char* field, int64_t given, int64_t own) {
    if (given == own) return;
    fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected the group's %lld, since its storage stays",
         field, static_cast<long long>(given), static_cast<long long>(own));
  };
  require_number("master_storage", static_cast<int64_t>(asked.master), static_cast<int64_t>(kept.master));
  require_number("min_8bit_size", asked.min_8bit_size, kept.min_8bit_size);
}

// The reverse of checked_precision.
template <class Options>
void show_precision(const optim::Precision& precision, Options& options) {
  options.compute_dtype = static_cast<htone_dtype>(precision.compute_dtype);
  options.grad_dtype = static_cast<htone_dtype>(precision.grad_dtype);
  options.master_storage = static_cast<htone_master_storage>(precision.master);
  if constexpr (requires { options.moment1_dtype; }) {
    options.moment1_dtype = static_cast<htone_dtype>(precision.moment1_dtype);
  }
  if constexpr (requires { options.moment2_dtype; }) {
    options.moment2_dtype = static_cast<htone_dtype>(precision.moment2_dtype);
  }
  if constexpr (requires { options.min_8bit_size; }) options.min_8bit_size = precision.min_8bit_size;
}

}  // namespace halftone::capi

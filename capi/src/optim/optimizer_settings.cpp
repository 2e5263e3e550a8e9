#include "optim/optimizer_settings.h"

#include <array>
#include <cstring>

#include "base/arguments.h"
#include "optim/setting_checks.h"

namespace halftone::capi {

static_assert(static_cast<int32_t>(optim::Master::kFull) == HTONE_MASTER_FULL);
static_assert(static_cast<int32_t>(optim::Master::kSplit) == HTONE_MASTER_SPLIT);
static_assert(static_cast<int32_t>(optim::Master::kNone) == HTONE_MASTER_NONE);
static_assert(static_cast<int32_t>(optim::Kind::kSgd) == HTONE_OPTIMIZER_SGD);
static_assert(static_cast<int32_t>(optim::Kind::kAdam) == HTONE_OPTIMIZER_ADAM);
static_assert(static_cast<int32_t>(optim::Kind::kAdamW) == HTONE_OPTIMIZER_ADAMW);
static_assert(static_cast<int32_t>(optim::Kind::kLion) == HTONE_OPTIMIZER_LION);
static_assert(static_cast<int32_t>(optim::Kind::kRmsprop) == HTONE_OPTIMIZER_RMSPROP);
static_assert(static_cast<int32_t>(optim::Kind::kAdafactor) == HTONE_OPTIMIZER_ADAFACTOR);

namespace {

// A number of the options by the name that optim::settings_of has for it.
struct Field {
  constexpr Field(const char* field, double htone_optimizer_options::*place) : name(field), number(place) {}
  constexpr Field(const char* field, int32_t htone_optimizer_options::*place) : name(field), flag(place) {}

  // A flag is 0 or 1, although the caller may write any number.
  double of(const htone_optimizer_options& options) const {
    return number != nullptr ? options.*number : options.*flag != 0 ? 1.0 : 0.0;
  }
  void put(htone_optimizer_options& options, double value) const {
    if (number != nullptr) {
      options.*number = value;
    } else {
      options.*flag = static_cast<int32_t>(value);
    }
  }

  const char* name;
  double htone_optimizer_options::*number = nullptr;
  int32_t htone_optimizer_options::*flag = nullptr;
};

using Options = htone_optimizer_options;
constexpr Field kFields[] = {
    {"lr", &Options::lr},
    {"weight_decay", &Options::weight_decay},
    {"momentum", &Options::momentum},
    {"dampening", &Options::dampening},
    {"beta1", &Options::beta1},
    {"beta2", &Options::beta2},
    {"alpha", &Options::alpha},
    {"epsilon", &Options::epsilon},
    {"beta2_decay", &Options::beta2_decay},
    {"epsilon1", &Options::epsilon1},
    {"epsilon2", &Options::epsilon2},
    {"clip_threshold", &Options::clip_threshold},
    {"nesterov", &Options::nesterov},
    {"centered", &Options::centered},
};

// REQUIRES: one of the fields has the name.
const Field& field_of(const char* name) {
  const Field* field = kFields;
  while (std::strcmp(field->name, name) != 0) ++field;
  return *field;
}

bool is_read(optim::Kind kind, const char* name) {
  for (const optim::SettingRange& range : optim::settings_of(kind)) {
    if (std::strcmp(range.name, name) == 0) return true;
  }
  return false;
}

// A setting without effect is likely a mistake.
void require_unread_defaults(optim::Kind kind, const Options& options) {
  for (const Field& field : kFields) {
    if (is_read(kind, field.name) || field.of(options) == field.of(defaults_of(kind))) continue;
    fail(Code::kInvalidArgument, "options", "options.%s=%g, expected 0: %s does not read it", field.name,
         field.of(options), optim::name_of(kind));
  }
}

std::vector<double> checked_numbers(optim::Kind kind, const Options& options) {
  std::vector<double> numbers;
  for (const optim::SettingRange& range : optim::settings_of(kind)) {
    const double value = field_of(range.name).of(options);
    require_setting(optim::is_within(value, range.bounds), range.name, value, optim::text_of(range.bounds));
    numbers.push_back(value);
  }
  require_unread_defaults(kind, options);
  if (options.nesterov != 0 && (options.momentum == 0.0 || options.dampening != 0.0)) {
    fail(Code::kInvalidArgument, "options", "options.nesterov=%d needs momentum above 0 and no dampening",
         options.nesterov);
  }
  return numbers;
}

void require_dtype(bool holds, const char* field, htone_dtype dtype, const char* expected) {
  if (holds) return;
  if (!is_valid(static_cast<DType>(dtype))) {
    fail(Code::kInvalidArgument, "options",
         "options.%s=%d is no dtype, expected %s; fill options with htone_optimizer_options_init", field, dtype,
         expected);
  }
  fail(Code::kInvalidArgument, "options", "options.%s=%s, expected %s", field, htone_dtype_name(dtype), expected);
}

// The moments of a kind that options can store in few bits.
bool has_first_moment(optim::Kind kind) { return kind != optim::Kind::kAdafactor; }
bool has_second_moment(optim::Kind kind) {
  return kind == optim::Kind::kAdam || kind == optim::Kind::kAdamW || kind == optim::Kind::kRmsprop;
}

DType checked_moment1_dtype(optim::Kind kind, htone_dtype dtype) {
  const bool may_be_small = has_first_moment(kind) && (dtype == HTONE_BF16 || dtype == HTONE_I8);
  require_dtype(dtype == HTONE_F32 || may_be_small, "moment1_dtype", dtype,
                has_first_moment(kind) ? "f32, bf16 or i8" : "f32: adafactor does not read it");
  return static_cast<DType>(dtype);
}

DType checked_moment2_dtype(optim::Kind kind, htone_dtype dtype) {
  if (has_second_moment(kind)) {
    require_dtype(dtype == HTONE_F32 || dtype == HTONE_U8, "moment2_dtype", dtype, "f32 or u8");
  } else if (dtype != HTONE_F32) {
    fail(Code::kInvalidArgument, "options", "options.moment2_dtype=%s, expected f32: %s does not read it",
         htone_dtype_name(dtype), optim::name_of(kind));
  }
  return static_cast<DType>(dtype);
}

int64_t checked_min_8bit_size(optim::Kind kind, int64_t size) {
  if (has_first_moment(kind)) {
    require_setting(size >= 0, "min_8bit_size", static_cast<double>(size), "at least 0");
  } else {
    require_setting(size == 0, "min_8bit_size", static_cast<double>(size), "0: adafactor does not read it");
  }
  return size;
}

// The fields about storage.
optim::Precision checked_precision(optim::Kind kind, const Options& options) {
  const htone_dtype compute = options.compute_dtype;
  const htone_dtype grad = options.grad_dtype;
  const htone_master_storage master = options.master_storage;
  require_dtype(compute == HTONE_F32 || compute == HTONE_BF16 || compute == HTONE_F16, "compute_dtype", compute,
                "f32, bf16 or f16");
  require_dtype(grad == HTONE_F32 || grad == compute, "grad_dtype", grad, "f32 or compute_dtype");
  const DType moment1 = checked_moment1_dtype(kind, options.moment1_dtype);
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
          .moment2_dtype = checked_moment2_dtype(kind, options.moment2_dtype),
          .min_8bit_size = checked_min_8bit_size(kind, options.min_8bit_size)};
}

}  // namespace

optim::Kind checked_kind(htone_optimizer_kind kind, const char* argument, const char* shown) {
  if (kind < HTONE_OPTIMIZER_ADAMW || kind > HTONE_OPTIMIZER_ADAFACTOR) {
    fail(Code::kInvalidArgument, argument, "%s=%d, expected one of htone_optimizer_kind", shown, kind);
  }
  return static_cast<optim::Kind>(kind);
}

const htone_optimizer_options& defaults_of(optim::Kind kind) {
  // In the order of htone_optimizer_kind.
  static constexpr htone_optimizer_options kDefaults[] = {HTONE_ADAMW_OPTIONS_INIT,   HTONE_ADAM_OPTIONS_INIT,
                                                          HTONE_SGD_OPTIONS_INIT,     HTONE_LION_OPTIONS_INIT,
                                                          HTONE_RMSPROP_OPTIONS_INIT, HTONE_ADAFACTOR_OPTIONS_INIT};
  return kDefaults[static_cast<int32_t>(kind) - 1];
}

OptimizerSettings checked_settings(const htone_optimizer_options& options) {
  const optim::Kind kind = checked_kind(options.kind, "options", "options.kind");
  return {.kind = kind, .precision = checked_precision(kind, options), .numbers = checked_numbers(kind, options)};
}

OptimizerSettings optimizer_settings(const htone_optimizer_options* options) {
  const Options known = options_or_default(options, defaults_of(optim::Kind::kAdamW));
  const optim::Kind kind = checked_kind(known.kind, "options", "options.kind");
  return checked_settings(options_or_default(options, defaults_of(kind)));
}

htone_optimizer_options options_of(const optim::Optimizer& optimizer, size_t index) {
  htone_optimizer_options options = defaults_of(optim::kind_of(optimizer));
  for (const optim::Optimizer::NamedNumber& number : optimizer.group_numbers(index)) {
    field_of(number.name).put(options, number.value);
  }
  const optim::Precision& precision = optimizer.group_precision(index);
  options.compute_dtype = static_cast<htone_dtype>(precision.compute_dtype);
  options.grad_dtype = static_cast<htone_dtype>(precision.grad_dtype);
  options.moment1_dtype = static_cast<htone_dtype>(precision.moment1_dtype);
  options.moment2_dtype = static_cast<htone_dtype>(precision.moment2_dtype);
  options.master_storage = static_cast<htone_master_storage>(precision.master);
  options.min_8bit_size = precision.min_8bit_size;
  return options;
}

void require_same_storage(const optim::Precision& asked, const optim::Precision& kept) {
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

}  // namespace halftone::capi

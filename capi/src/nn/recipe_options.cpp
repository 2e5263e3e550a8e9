#include "nn/recipe_options.h"

#include "base/arguments.h"
#include "core/number/number_format.h"

namespace halftone::capi {

static_assert(static_cast<int32_t>(RecipeKind::kCurrent) == HTONE_RECIPE_CURRENT);
static_assert(static_cast<int32_t>(RecipeKind::kDelayed) == HTONE_RECIPE_DELAYED);
static_assert(static_cast<int32_t>(RecipeKind::kBlock) == HTONE_RECIPE_BLOCK);
static_assert(static_cast<int32_t>(RecipeKind::kMxfp8) == HTONE_RECIPE_MXFP8);
static_assert(static_cast<int32_t>(RecipeKind::kNvfp4) == HTONE_RECIPE_NVFP4);

namespace {

RecipeKind known_kind(htone_recipe_kind kind) {
  switch (kind) {
    case HTONE_RECIPE_CURRENT:
    case HTONE_RECIPE_DELAYED:
    case HTONE_RECIPE_BLOCK:
    case HTONE_RECIPE_MXFP8:
    case HTONE_RECIPE_NVFP4:
      return static_cast<RecipeKind>(kind);
    default:
      fail(Code::kInvalidArgument, "kind", "kind=%d is none of HTONE_RECIPE_...", kind);
  }
}

NumberFormat gradient_format(htone_recipe_format format, RecipeKind kind) {
  switch (format) {
    case HTONE_RECIPE_FORMAT_AUTO:
      return kind == RecipeKind::kCurrent || kind == RecipeKind::kDelayed ? NumberFormat::kE5M2 : NumberFormat::kE4M3;
    case HTONE_RECIPE_FORMAT_E4M3:
      return NumberFormat::kE4M3;
    case HTONE_RECIPE_FORMAT_HYBRID:
      return NumberFormat::kE5M2;
    default:
      fail(Code::kInvalidArgument, "options", "options.format=%d is none of HTONE_RECIPE_FORMAT_...", format);
  }
}

constexpr int64_t kMostHistory = int64_t{1} << 20;
constexpr int64_t kMostMargin = 64;

void require_within(int64_t value, int64_t least, int64_t most, const char* field) {
  if (value >= least && value <= most) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected %lld to %lld", field,
       static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(most));
}

}  // namespace

RecipeOptions recipe_options(htone_recipe_kind given_kind, const htone_recipe_options* options) {
  const RecipeKind kind = known_kind(given_kind);
  const htone_recipe_options given = options_or_default(options, htone_recipe_options(HTONE_RECIPE_OPTIONS_INIT));
  require_within(given.history_length, 1, kMostHistory, "history_length");
  require_within(given.margin, -kMostMargin, kMostMargin, "margin");
  return {.kind = kind,
          .gradient_format = gradient_format(given.format, kind),
          .scale_rounds_up = given.scale_rounds_up != 0,
          .history_length = given.history_length,
          .margin = given.margin,
          .takes_newest = given.most_recent != 0,
          .scales_weights_in_squares = given.square_weight_scales != 0,
          .rounds_gradients_by_chance = given.stochastic_gradients != 0,
          .rotates = given.random_hadamard != 0};
}

}  // namespace halftone::capi

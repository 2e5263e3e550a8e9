#include "cpu/rows/sum_plan.h"

#include <algorithm>

namespace halftone::cpu {
namespace {

// A row with fewer terms is not worth a loop of its own.
constexpr int64_t kShortRow = 16;

}  // namespace

void SumPlan::Axes::insert(const Axis& axis) noexcept {
  int at = rank++;
  for (; at > 0 && axes[at - 1].in_stride < axis.in_stride; --at) axes[at] = axes[at - 1];
  axes[at] = axis;
}

// Merges neighbouring axes that continue each other in both views.
void SumPlan::Axes::merge() noexcept {
  int last = 0;
  for (int i = 1; i < rank; ++i) {
    const Axis& next = axes[i];
    const bool continues =
        axes[last].in_stride == next.in_stride * next.size && axes[last].out_stride == next.out_stride * next.size;
    if (continues) {
      axes[last] = {axes[last].size * next.size, next.in_stride, next.out_stride};
    } else {
      axes[++last] = next;
    }
  }
  rank = std::min(rank, last + 1);
}

SumPlan::Axes SumPlan::axes_of(const View& in, const View& out, bool summed) noexcept {
  Axes axes;
  for (int i = 0; i < in.rank(); ++i) {
    if (in.shape[i] == 1 || (in.shape[i] != out.shape[i]) != summed) continue;
    axes.insert({in.shape[i], in.strides[i], summed ? 0 : out.strides[i]});
  }
  axes.merge();
  return axes;
}

Layout SumPlan::terms_of(const View& in, const Axes& summed) noexcept {
  View terms = {in.data, in.dtype, {}, {}};
  for (int i = 0; i < summed.rank; ++i) {
    terms.shape.push_back(summed.axes[i].size);
    terms.strides.push_back(summed.axes[i].in_stride);
  }
  return Layout(terms);
}

SumPlan::SumPlan(const View& in, const View& out, int64_t strip_width) noexcept
    : SumPlan(in, axes_of(in, out, true), axes_of(in, out, false), strip_width) {}

SumPlan::SumPlan(const View& in, const Axes& summed, const Axes& kept, int64_t strip_width) noexcept
    : terms_(terms_of(in, summed)), outer_(kept), inner_{1, 0, 0} {
  for (int i = 0; i < summed.rank; ++i) term_count_ *= summed.axes[i].size;
  if (kept.rank > 0) inner_ = outer_.axes[--outer_.rank];
  for (int i = 0; i < outer_.rank; ++i) outer_count_ *= outer_.axes[i].size;
  const int64_t term_stride = summed.rank > 0 ? summed.axes[summed.rank - 1].in_stride : 0;
  by_columns_ = inner_.size > 1 && (inner_.in_stride < term_stride || term_count_ < kShortRow);
  strip_width_ = strip_width;
  strips_per_row_ = (inner_.size + strip_width - 1) / strip_width;
}

Strip SumPlan::strip(int64_t index) const noexcept {
  const int64_t begin = index % strips_per_row_ * strip_width_;
  Strip strip = {begin * inner_.in_stride, inner_.in_stride, begin * inner_.out_stride, inner_.out_stride,
                 std::min(strip_width_, inner_.size - begin)};
  int64_t outer = index / strips_per_row_;
  for (int i = outer_.rank - 1; i >= 0; --i) {
    const Axis& axis = outer_.axes[i];
    strip.in_offset += outer % axis.size * axis.in_stride;
    strip.out_offset += outer % axis.size * axis.out_stride;
    outer /= axis.size;
  }
  return strip;
}

}  // namespace halftone::cpu

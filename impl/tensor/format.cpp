#include "tensor/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tensor/factory.h"

namespace halftone {

namespace {

constexpr int64_t kMostShown = 1000;  // elements; of more, the edges
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 80;
constexpr const char kOpening[] = "tensor(";

// An element of any dtype: floats as double, all others as integers.
struct Element {
  double real = 0;
  int64_t whole = 0;
};

// The elements that are shown of one dimension: [0, head) and [size - tail, size).
struct ShownRange {
  int64_t head;
  int64_t tail;

  bool is_cut() const { return tail > 0; }
  int64_t count() const { return head + tail; }
};

// How the floats of a tensor are written: all alike.
enum class FloatForm { kWhole, kFixed, kScientific };

FloatForm float_form(const std::vector<Element>& elements) {
  double least = INFINITY, most = 0;
  bool is_whole = true;
  for (const Element& element : elements) {
    const double size = std::fabs(element.real);
    if (!std::isfinite(size) || size == 0) continue;
    least = std::min(least, size);
    most = std::max(most, size);
    is_whole = is_whole && size == std::floor(size);
  }
  if (most == 0) return FloatForm::kWhole;
  const bool is_wide = most / least > 1000 || most > 1e8;
  if (is_wide || (!is_whole && least < 1e-4)) return FloatForm::kScientific;
  return is_whole ? FloatForm::kWhole : FloatForm::kFixed;
}

std::string text_of(double value, FloatForm form) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[64];
  // A whole number in this form is at most 1e8.
  const char* format = form == FloatForm::kWhole ? "%.0f." : form == FloatForm::kFixed ? "%.4f" : "%.4e";
  std::snprintf(text, sizeof text, format, value);
  std::replace(text, text + sizeof text, ',', '.');  // the program may have a locale with decimal commas
  return text;
}

std::string text_of(int64_t value, bool is_bool) {
  if (is_bool) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

class Formatter {
 public:
  explicit Formatter(const Tensor& tensor) : tensor_(tensor), is_cut_(tensor.numel() > kMostShown) {
    std::vector<Element> elements;
    read(0, tensor.offset(), elements);
    write_texts(elements);
  }

  std::string text() {
    std::string out = kOpening;
    append(0, out);
    if (tensor_.numel() == 0) out.append(", shape=").append(ShapeText(tensor_.shape()).text);
    return out.append(", ").append(name_of(tensor_.dtype())).append(")");
  }

 private:
  ShownRange shown(int dim) const {
    const int64_t size = tensor_.size(dim);
    return is_cut_ && size > 2 * kEdge ? ShownRange{kEdge, kEdge} : ShownRange{size, 0};
  }

  // Appends the shown elements from dimension `dim` on.
  void read(int dim, int64_t offset, std::vector<Element>& elements) const {
    if (dim == tensor_.rank()) return read_run(offset, 1, 1, elements);
    const ShownRange range = shown(dim);
    const int64_t stride = tensor_.strides()[dim], tail = tensor_.size(dim) - range.tail;
    if (dim + 1 == tensor_.rank()) {
      read_run(offset, range.head, stride, elements);
      return read_run(offset + tail * stride, range.tail, stride, elements);
    }
    for (int64_t i = 0; i < range.head; ++i) read(dim + 1, offset + i * stride, elements);
    for (int64_t i = tail; i < tail + range.tail; ++i) read(dim + 1, offset + i * stride, elements);
  }

  void read_run(int64_t offset, int64_t count, int64_t stride, std::vector<Element>& elements) const {
    if (count == 0) return;
    const Tensor run = tensor_.as_strided({count}, {stride}, offset);
    const size_t first = elements.size();
    elements.resize(first + static_cast<size_t>(count));
    if (is_float(tensor_.dtype())) {
      std::vector<double> values(static_cast<size_t>(count));
      read_to_host(run, DType::kF64, values.data());
      for (size_t i = 0; i < values.size(); ++i) elements[first + i].real = values[i];
    } else {
      std::vector<int64_t> values(static_cast<size_t>(count));
      read_to_host(run, DType::kI64, values.data());
      for (size_t i = 0; i < values.size(); ++i) elements[first + i].whole = values[i];
    }
  }

  // All of one width.
  void write_texts(const std::vector<Element>& elements) {
    const FloatForm form = float_form(elements);
    const bool is_bool = tensor_.dtype() == DType::kBool;
    size_t width = 0;
    for (const Element& element : elements) {
      texts_.push_back(is_float(tensor_.dtype()) ? text_of(element.real, form) : text_of(element.whole, is_bool));
      width = std::max(width, texts_.back().size());
    }
    for (std::string& text : texts_) text.insert(0, width - text.size(), ' ');
  }

  void append(int dim, std::string& out) {
    if (dim == tensor_.rank()) {
      out += texts_[next_++];
      return;
    }
    const ShownRange range = shown(dim);
    const bool is_innermost = dim + 1 == tensor_.rank();
    const size_t indent = sizeof kOpening - 1 + static_cast<size_t>(dim) + 1;
    // Blocks of two dimensions have an empty line between them.
    std::string line_break = ",";
    line_break.append(is_innermost ? 1 : static_cast<size_t>(tensor_.rank() - dim - 1), '\n').append(indent, ' ');
    size_t column = indent;
    out += '[';
    for (int64_t i = 0; i < range.count(); ++i) {
      const bool follows_gap = range.is_cut() && i == range.head;
      if (is_innermost) {
        const size_t width = texts_[next_].size() + (follows_gap ? 5 : 0) + 2;
        if (i > 0) out += column + width > kLineWidth ? line_break : ", ";
        column = (i > 0 && column + width > kLineWidth ? indent : column) + width;
        if (follows_gap) out += "..., ";
      } else {
        if (i > 0) out += line_break;
        if (follows_gap) out.append("...").append(line_break);
      }
      append(dim + 1, out);
    }
    out += ']';
  }

  const Tensor& tensor_;
  bool is_cut_;
  std::vector<std::string> texts_;  // of the shown elements
  size_t next_ = 0;
};

}  // namespace

std::string format(const Tensor& tensor) { return Formatter(tensor).text(); }

}  // namespace halftone

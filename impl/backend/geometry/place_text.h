// The position of an element in a tensor as a text, for messages of kernels that check elements.
#pragma once

#include <cstdio>

#include "core/shape.h"

namespace halftone {

// "[1, 2]"; empty for a scalar. Counts elements in row-major order.
struct PlaceText {
  PlaceText(const Shape& shape, int64_t element) {
    if (shape.rank() == 0) return;
    Shape place = shape;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      place[d] = element % shape[d];
      element /= shape[d];
    }
    std::snprintf(text, sizeof text, "%s", ShapeText(place).text);
  }
  char text[sizeof ShapeText::text] = "";
};

}  // namespace halftone

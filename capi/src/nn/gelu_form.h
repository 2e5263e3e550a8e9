// The two forms of GELU. Used by the operation and by its layer.
#pragma once

#include "base/arguments.h"
#include "halftone/activation.h"
#include "ops/elementwise/elementwise.h"

namespace halftone::capi {

inline ops::GeluForm checked_gelu_form(htone_gelu_form form, ArgumentName argument) {
  if (form != HTONE_GELU_ERF && form != HTONE_GELU_TANH) {
    fail(Code::kInvalidArgument, argument.text(), "form=%d, expected HTONE_GELU_ERF or HTONE_GELU_TANH", form);
  }
  return form == HTONE_GELU_ERF ? ops::GeluForm::kErf : ops::GeluForm::kTanh;
}

}  // namespace halftone::capi

#include "tensor/handles.h"

#include "core/error.h"

namespace halftone::capi {

void fail_released(ArgumentName argument) {
  fail(Code::kState, argument.text(), "%s is over weights that ranks share, whose memory is released; see %s",
       argument.text(), "htone_fsdp_gather_begin");
}

}  // namespace halftone::capi

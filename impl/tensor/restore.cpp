#include "tensor/restore.h"

#include "core/error.h"
#include "core/undo.h"
#include "tensor/factory.h"

namespace halftone {

void restore_on_failure(const Tensor& tensor) {
  const Tensor before = empty_like(tensor);
  copy(tensor, before);
  Undo::on_failure([tensor, before] {
    try {
      copy(before, tensor);
    } catch (const Error&) {
      // The device has failed, so its memory is lost anyway.
    }
  });
}

}  // namespace halftone

#include "runtime/handles.h"

#include "runtime/context.h"

namespace halftone::capi {

DeviceReference::DeviceReference(ContextDevice& owned) : context(Ref<Context>::share(owned.context)), device(owned) {}

DeviceReference::~DeviceReference() = default;

}  // namespace halftone::capi

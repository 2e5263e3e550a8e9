#include "halftone/module_copy.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/part_copies.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_module_copy(htone_module* module, htone_module** out) { return Call(nn::copy_of, module, out); }

/* Devices of the default context. */

%{
#include "halftone/device.h"

/* SWIG names its helpers Class_method. Extending the C struct under its own name would give them the names of the C
 * functions; the typedef keeps the two apart. */
typedef htone_device Device;
%}

struct Device {};

%extend Device {
  Device(const char* name) {
    htone_context* context = nullptr;
    check(htone_context_default(&context));
    htone_device* device = nullptr;
    const htone_status status = htone_device_create(context, name, &device);
    htone_context_release(context);
    check(status);
    return device;
  }

  /* The proxy owns exactly one reference, so there is nothing to report. */
  ~Device() { htone_device_release($self); }
}

/* Devices of the default context. */

%{
#include "halftone/device.h"

/* SWIG names its helper functions Class_method. If the class had the name of the C struct, these would collide with the
 * names of the C functions; the typedef keeps them apart. */
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

  /* The proxy owns exactly one reference, so the release cannot fail. */
  ~Device() { htone_device_release($self); }
}

/* The module for Python: conversions, and the generated interface of the whole C API (bindings/generator). */
%module(threads = "1", docstring = "The generated part of halftone; import halftone instead.") halftone

%{
#include <memory>

#include "callables.h"
#include "caller_objects.h"
#include "exchange.h"
#include "halftone/halftone.h"
#include "interrupt.h"
%}

%include "stdint.i"
%include "typemaps.i"
%include "halftone_api.i"
%include "by_hand.i"

/* The module, the same for every language; -I chooses whose halftone_lang.i is read. Each topic has a file. */
%module(threads = "1") halftone

%include "stdint.i"
%include "halftone_lang.i"

%include "base.i"
%include "dtype.i"
%include "device.i"
%include "tensor.i"

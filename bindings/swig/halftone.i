/* The module for every language; -I selects the halftone_lang.i of one. Each topic has a file. */
%module(threads = "1") halftone

%include "stdint.i"
%include "halftone_lang.i"

%include "base.i"
%include "dtype.i"
%include "device.i"
%include "tensor.i"

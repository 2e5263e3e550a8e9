/* Python: names are unchanged. A failure raises the exception that halftone.errors makes. Arrays are any object with
 * the buffer protocol. */

%{
#include "halftone/tensor.h"
#include "status.h"

namespace {

void raise(const halftone_bindings::StatusError& error) {
  PyObject* errors = PyImport_ImportModule("halftone.errors");
  if (errors == nullptr) return;
  /* A message may quote a name from the caller, so it may not be valid UTF-8. */
  PyObject* message = PyUnicode_DecodeUTF8(error.info.message, Py_ssize_t(strlen(error.info.message)), "replace");
  PyObject* raised = message == nullptr
                         ? nullptr
                         : PyObject_CallMethod(errors, "from_status", "iO", int(error.info.status), message);
  if (raised != nullptr) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
  Py_XDECREF(raised);
  Py_XDECREF(message);
  Py_DECREF(errors);
}

}  // namespace
%}

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    raise(error);
    SWIG_fail;
  }
}

/* A closed object keeps its handle. The library never reuses a handle's value, so it returns INVALID_HANDLE. */
%define %halftone_owned(TYPE)
%extend TYPE {
%pythoncode %{
    def close(self):
        if self.thisown:
            self.__swig_destroy__(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
%}
}
%enddef

%halftone_owned(Device)
%halftone_owned(Tensor)

%pythonappend Tensor::dtype %{
        from .enums import Dtype
        val = Dtype(val)
%}

/* A sequence of integers. If ndim exceeds the limit, they are not copied: the library rejects ndim before it reads
 * them. */
%typemap(in) (const int64_t* shape, int32_t ndim) (int64_t copy[HTONE_MAX_NDIM]) {
  PyObject* sequence = PySequence_Fast($input, "shape is not a sequence of integers");
  if (sequence == nullptr) SWIG_fail;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  for (Py_ssize_t i = 0; i < count && i < HTONE_MAX_NDIM && !PyErr_Occurred(); ++i) {
    copy[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(sequence, i));
  }
  Py_DECREF(sequence);
  if (PyErr_Occurred()) SWIG_fail;
  $1 = copy;
  $2 = int32_t(count < INT32_MAX ? count : INT32_MAX);
}

/* A writable C-contiguous buffer of floats, locked during the call. */
%typemap(in) (float* values, int64_t count) (Py_buffer view = {}) {
  if (PyObject_GetBuffer($input, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) SWIG_fail;
  if (view.format == nullptr || strcmp(view.format, "f") != 0) {
    PyErr_SetString(PyExc_TypeError, "read: the buffer's elements are not of format 'f'");
    SWIG_fail;
  }
  $1 = static_cast<float*>(view.buf);
  $2 = view.len / Py_ssize_t(sizeof(float));
}
%typemap(freearg) (float* values, int64_t count) "PyBuffer_Release(&view$argnum);"

%typemap(in, numinputs = 0) int64_t* sizes (int64_t copy[HTONE_MAX_NDIM]) "$1 = copy;"
%typemap(argout) int64_t* sizes {
  PyObject* tuple = PyTuple_New(result);
  for (int32_t i = 0; tuple != nullptr && i < result; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong($1[i]));
  Py_XDECREF($result);
  $result = tuple;
}

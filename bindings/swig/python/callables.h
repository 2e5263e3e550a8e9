// Python's functions as callbacks of the library (callbacks.h).
#ifndef HALFTONE_BINDINGS_PYTHON_CALLABLES_H
#define HALFTONE_BINDINGS_PYTHON_CALLABLES_H

#include "callbacks.h"
#include "conversions.h"
#include "halftone/parameters.h"
#include "halftone/tensor.h"

namespace ht {

// Holds the GIL, on a thread of Python's or of the library's.
class InterpreterLock {
 public:
  InterpreterLock() : state_(PyGILState_Ensure()) {}
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;
  ~InterpreterLock() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// Makes an object that owns a reference of its own, so the function may keep it.
template <class Handle, class Retain>
PyObject* from_borrowed(Handle* handle, Retain retain, swig_type_info* type) {
  if (handle == nullptr) Py_RETURN_NONE;
  if (retain(handle) != HTONE_OK) return PyErr_Format(PyExc_ValueError, "an argument was released");
  return SWIG_NewPointerObj(handle, type, SWIG_POINTER_OWN);
}

struct ArgumentToPython {
  PyObject* operator()(int64_t number) const { return PyLong_FromLongLong(number); }
  PyObject* operator()(double number) const { return PyFloat_FromDouble(number); }
  PyObject* operator()(const char* text) const { return from_text(text); }
  PyObject* operator()(const Integers& integers) const { return from_integers(integers); }
  PyObject* operator()(const Memory& memory) const {
    if (memory.data == nullptr) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(static_cast<const char*>(memory.data), Py_ssize_t(memory.size));
  }
  PyObject* operator()(htone_tensor* tensor) const {
    return from_borrowed(tensor, htone_tensor_retain, SWIGTYPE_p_ht__Tensor);
  }
  PyObject* operator()(htone_module* module) const {
    return from_borrowed(module, htone_module_retain, SWIGTYPE_p_ht__Module);
  }
  PyObject* operator()(htone_parameter* parameter) const {
    return from_borrowed(parameter, htone_parameter_retain, SWIGTYPE_p_ht__Parameter);
  }
  PyObject* operator()(const BorrowedTensors& tensors) const { return tuple(tensors); }
  PyObject* operator()(const std::vector<WritableMemory>& rows) const { return tuple(rows); }
  PyObject* operator()(const WritableMemory& memory) const {
    return PyMemoryView_FromMemory(static_cast<char*>(memory.data), Py_ssize_t(memory.size), PyBUF_WRITE);
  }

 private:
  template <class Items>
  PyObject* tuple(const Items& items) const {
    Object made(PyTuple_New(Py_ssize_t(items.size())));
    for (size_t i = 0; made && i < items.size(); ++i) {
      PyObject* const item = (*this)(items[i]);
      if (item == nullptr) return nullptr;
      PyTuple_SET_ITEM(made.get(), Py_ssize_t(i), item);
    }
    return made.release();
  }
};

// Takes Python's exception. Returns its number, under which halftone.errors keeps it until the call of the library
// fails.
inline htone_status store_exception(bool may_time_out) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  const Object owned_type(type), owned_value(value), owned_trace(trace);
  const Object stored(call_python("halftone.errors", "store", "Oi", value, int(may_time_out)));
  int number = HTONE_ERROR_CALLBACK;
  const char* text = nullptr;
  if (!stored || !PyArg_ParseTuple(stored.get(), "is", &number, &text)) PyErr_Clear();
  return htone_error_set(htone_status(number), text == nullptr ? "an exception of Python" : text);
}

class PythonCallable final : public Callable {
 public:
  explicit PythonCallable(PyObject* function) : function_(function) { Py_INCREF(function); }
  // A process that ends keeps the object.
  ~PythonCallable() override {
    if (!Py_IsInitialized()) return;
    const InterpreterLock lock;
    Py_DECREF(function_);
  }

  htone_status call(const std::vector<Argument>& arguments, Result* result) noexcept override {
    if (!Py_IsInitialized()) return HTONE_ERROR_STATE;
    const InterpreterLock lock;
    const Object converted(convert(arguments));
    const Object returned(converted ? PyObject_CallObject(function_, converted.get()) : nullptr);
    if (returned && take(returned.get(), result)) return HTONE_OK;
    for (htone_tensor* tensor : result->references) (void)!htone_tensor_release(tensor);
    result->references.clear();
    return result->has_caller ? store_exception(result->may_time_out) : report_exception();
  }

 private:
  static PyObject* convert(const std::vector<Argument>& arguments) {
    Object tuple(PyTuple_New(Py_ssize_t(arguments.size())));
    for (size_t i = 0; tuple && i < arguments.size(); ++i) {
      PyObject* const item = std::visit(ArgumentToPython(), arguments[i]);
      if (item == nullptr) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), item);
    }
    return tuple.release();
  }

  static bool take(PyObject* returned, Result* result) {
    switch (result->kind) {
      case Result::Kind::kNothing:
        return true;
      case Result::Kind::kNumber:
        result->number = PyFloat_AsDouble(returned);
        return PyErr_Occurred() == nullptr;
      case Result::Kind::kInteger:
        result->integer = PyLong_AsLongLong(returned);
        return PyErr_Occurred() == nullptr;
      case Result::Kind::kBytes:
        return take_bytes(returned, result);
      case Result::Kind::kTensors:
        return take_tensors(returned, result);
    }
    return false;
  }

  static bool take_bytes(PyObject* returned, Result* result) {
    View view;
    Memory memory;
    result->is_absent = returned == Py_None;
    if (!result->is_absent && !to_memory(returned, kResult, &view, &memory)) return false;
    if (memory.size != 0) result->bytes.assign(static_cast<const char*>(memory.data), memory.size);
    return true;
  }

  // One tensor, or a sequence of tensors and None, or None.
  static bool take_tensors(PyObject* returned, Result* result) {
    if (returned == Py_None) return true;
    void* single = nullptr;
    std::vector<htone_tensor*> tensors;
    if (SWIG_IsOK(SWIG_ConvertPtr(returned, &single, SWIGTYPE_p_ht__Tensor, 0))) {
      tensors.push_back(static_cast<htone_tensor*>(single));
    } else if (!to_handles(returned, SWIGTYPE_p_ht__Tensor, 0, kResult, "Tensor", "a Tensor or a sequence of them",
                           &tensors)) {
      return false;
    }
    if (tensors.size() > result->tensor_count) {
      PyErr_Format(PyExc_TypeError, "the function returned %zu tensors, expected %zu", tensors.size(),
                   result->tensor_count);
      return false;
    }
    for (htone_tensor* tensor : tensors) {
      if (tensor != nullptr && htone_tensor_retain(tensor) != HTONE_OK) {
        PyErr_SetString(PyExc_ValueError, "the function returned a closed tensor");
        return false;
      }
      result->references.push_back(tensor);
    }
    return true;
  }

  htone_status report_exception() {
    PyErr_WriteUnraisable(function_);
    return HTONE_ERROR_CALLBACK;
  }

  static constexpr Place kResult{"callback", "the result"};

  PyObject* function_;
};

inline bool to_callback(PyObject* object, const Place& place, Callback* out) {
  if (!PyCallable_Check(object)) return refuse_argument(place, "a function", object);
  *out = std::make_unique<PythonCallable>(object);
  return true;
}

}  // namespace ht

#endif

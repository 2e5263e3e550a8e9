// Python objects as the C++ types of shim.h, and the reverse. Every function expects the GIL. One that fails has set
// Python's exception and returns false or NULL; the exception names the place of the argument.
#ifndef HALFTONE_BINDINGS_PYTHON_CONVERSIONS_H
#define HALFTONE_BINDINGS_PYTHON_CONVERSIONS_H

#include <limits>

#include "arguments.h"

namespace ht {

// Raises the exception of a failed call of a function of the wrapper.
inline void raise(const halftone_bindings::StatusError& error, const char* function) {
  // A message may quote a name from the caller, so it may not be valid UTF-8.
  const Object message(PyUnicode_DecodeUTF8(error.info.message, Py_ssize_t(strlen(error.info.message)), "replace"));
  if (!message) return;
  const Object raised(call_python("halftone.errors", "from_status", "iOis", int(error.info.status), message.get(),
                                  int(error.info.native_code), function));
  if (raised) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.get())), raised.get());
}

// Calls `take` with each item of a sequence, and the item's place. A string is no sequence of its letters.
template <class Take>
bool each_item(PyObject* object, const Place& place, const char* expected, Take take) {
  const bool is_text = PyUnicode_Check(object) || PyBytes_Check(object);
  const Object sequence(is_text ? nullptr : PySequence_Fast(object, expected));
  if (!sequence) return refuse_argument(place, expected, object);
  for (Py_ssize_t i = 0; i < PySequence_Size(sequence.get()); ++i) {
    const Object item(PySequence_GetItem(sequence.get(), i));
    if (!item || !take(item.get(), Place{place.function, place.name, i})) return false;
  }
  return true;
}

template <class Number>
constexpr const char* integer_words() {
  if (std::is_signed_v<Number>) return sizeof(Number) == 4 ? "an int of 32 bits" : "an int of 64 bits";
  return sizeof(Number) == 4 ? "an int from 0 to 2**32 - 1" : "an int from 0 to 2**64 - 1";
}

// An int, or an object that is one, such as numpy's. A float is none, even without a fraction.
template <class Number>
bool to_integer(PyObject* object, const Place& place, Number* out) {
  const Object owned(PyLong_Check(object) ? nullptr : PyNumber_Index(object));
  PyObject* const index = PyLong_Check(object) ? object : owned.get();
  if (index == nullptr) return refuse_argument(place, "an int", object);
  if constexpr (std::is_signed_v<Number>) {
    const long long number = PyLong_AsLongLong(index);
    *out = Number(number);
    if (*out == number && (number != -1 || PyErr_Occurred() == nullptr)) return true;
  } else {
    const unsigned long long number = PyLong_AsUnsignedLongLong(index);
    *out = Number(number);
    if (*out == number && (number != ~0ULL || PyErr_Occurred() == nullptr)) return true;
  }
  return refuse_argument(place, integer_words<Number>(), object);
}

inline bool is_tensor(PyObject* object) {
  void* handle = nullptr;
  return SWIG_IsOK(SWIG_ConvertPtr(object, &handle, SWIGTYPE_p_ht__Tensor, SWIG_POINTER_NO_NULL));
}

// A float, an int, or an object that becomes a float, such as numpy's. A tensor would lose its gradient.
inline bool to_float(PyObject* object, const Place& place, double* out) {
  const bool is_plain = PyFloat_Check(object) || PyLong_Check(object);
  if (!is_plain && is_tensor(object)) return refuse_argument(place, "a float", object);
  *out = PyFloat_AsDouble(object);
  return *out != -1 || PyErr_Occurred() == nullptr || refuse_argument(place, "a float", object);
}

inline bool is_numpy_bool(PyObject* object) {
  const Object name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const Object module(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__module__"));
  const auto is = [](const Object& text, const char* expected) {
    return text && PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), expected) == 0;
  };
  return is(module, "numpy") && (is(name, "bool_") || is(name, "bool"));
}

// A bool of Python or numpy, or one of the integers 0 and 1.
inline bool to_bool(PyObject* object, const Place& place, bool* out) {
  *out = object == Py_True;
  if (PyBool_Check(object)) return true;
  if (is_numpy_bool(object)) {
    *out = PyObject_IsTrue(object) == 1;
    return true;
  }
  const Object index(is_tensor(object) ? nullptr : PyNumber_Index(object));
  const long number = index ? PyLong_AsLong(index.get()) : -1;
  *out = number == 1;
  return number == 0 || number == 1 || refuse_argument(place, "a bool", object);
}

// A string or a path. The memory is that of the argument, or of a string that this object keeps.
class Text {
 public:
  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { Py_XDECREF(kept_); }
  bool take(PyObject* object, const Place& place) {
    if (!PyUnicode_Check(object)) {
      kept_ = PyOS_FSPath(object);
      if (kept_ == nullptr || !PyUnicode_Check(kept_)) return refuse_argument(place, "a str", object);
    }
    Py_ssize_t length = 0;
    text_ = PyUnicode_AsUTF8AndSize(kept_ == nullptr ? object : kept_, &length);
    if (text_ == nullptr) return refuse_argument(place, "a str that UTF-8 can hold", object);
    return strlen(text_) == size_t(length) || refuse_argument(place, "a str without a character 0", object);
  }
  const char* get() const { return text_; }

 private:
  PyObject* kept_ = nullptr;
  const char* text_ = nullptr;
};

// A sequence of integers, or one integer.
inline bool to_integers(PyObject* object, const Place& place, Integers* out) {
  const auto take = [&](PyObject* item, const Place& at) {
    out->push_back(0);
    return to_integer(item, at, &out->back());
  };
  return PyIndex_Check(object) && !PySequence_Check(object)
             ? take(object, place)
             : each_item(object, place, "an int or a sequence of ints", take);
}

inline bool to_texts(PyObject* object, const Place& place, Texts* out) {
  return each_item(object, place, "a sequence of str", [&](PyObject* item, const Place& at) {
    Text text;
    if (!text.take(item, at)) return false;
    out->emplace_back(text.get());
    return true;
  });
}

template <class Handle>
bool to_handle(PyObject* object, swig_type_info* type, int flags, const Place& place, const char* expected,
               Handle** out) {
  void* handle = nullptr;
  if (!SWIG_IsOK(SWIG_ConvertPtr(object, &handle, type, flags))) return refuse_argument(place, expected, object);
  *out = static_cast<Handle*>(handle);
  return true;
}

// A sequence of objects. With the flags 0 None stands for an absent one.
template <class Handles>
bool to_handles(PyObject* object, swig_type_info* type, int flags, const Place& place, const char* expected_item,
                const char* expected, Handles* out) {
  return each_item(object, place, expected, [&](PyObject* item, const Place& at) {
    out->push_back(nullptr);
    return to_handle(item, type, flags, at, expected_item, &out->back());
  });
}

// Objects of any class of the library.
inline bool to_any_handle(PyObject* object, const Place& place, void** out) {
  return SWIG_IsOK(SWIG_ConvertPtr(object, out, nullptr, SWIG_POINTER_NO_NULL)) ||
         refuse_argument(place, "an object of halftone", object);
}

// An enumeration's member, its number, or its name in any case: Dtype.BF16, 4 or "bf16". halftone.enums knows other
// objects for members, such as numpy's dtypes.
template <class Enumeration>
bool to_enumeration(PyObject* object, const char* name, const Place& place, Enumeration* out) {
  // No static initializer: it would hold a lock while another thread takes the GIL.
  static PyObject* kind = nullptr;
  if (kind == nullptr) kind = call_python("halftone.enums", "enumeration", "s", name);
  const bool is_plain = reinterpret_cast<PyObject*>(Py_TYPE(object)) == kind || PyLong_CheckExact(object);
  const Object found(is_plain ? nullptr : call_python("halftone.enums", "member", "sO", name, object));
  PyObject* const number = is_plain ? object : found.get();
  if (number == nullptr) return refuse_argument(place, name, object);
  int32_t value = 0;
  if (!to_integer(number, place, &value)) return false;
  *out = Enumeration(value);
  return true;
}

// The member of a value; one of a newer library stays a plain integer.
template <class Enumeration>
PyObject* from_enumeration(const char* name, Enumeration value) {
  static PyObject* members = nullptr;
  if (members == nullptr) members = call_python("halftone.enums", "members", "s", name);
  Object number(members == nullptr ? nullptr : PyLong_FromLong(long(value)));
  PyObject* const found = number ? PyDict_GetItemWithError(members, number.get()) : nullptr;
  if (found == nullptr) return PyErr_Occurred() == nullptr ? number.release() : nullptr;
  Py_INCREF(found);
  return found;
}

inline PyObject* from_integers(const Integers& integers) {
  Object tuple(PyTuple_New(Py_ssize_t(integers.size())));
  for (size_t i = 0; tuple && i < integers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), PyLong_FromLongLong(integers[i]));
  }
  return tuple.release();
}

inline PyObject* from_text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
}

// Each object owns its handle; an absent one is None.
template <class Handles>
PyObject* from_handles(const Handles& handles, swig_type_info* type) {
  Object tuple(PyTuple_New(Py_ssize_t(handles.size())));
  for (size_t i = 0; tuple && i < handles.size(); ++i) {
    // For NULL it returns None.
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), SWIG_NewPointerObj(handles[i], type, SWIG_POINTER_OWN));
  }
  return tuple.release();
}

// The memory of an object with the buffer protocol, locked while this object lives.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { PyBuffer_Release(&view_); }
  bool open(PyObject* object, int flags) { return PyObject_GetBuffer(object, &view_, flags) == 0; }
  const Py_buffer& buffer() const { return view_; }

 private:
  Py_buffer view_{};
};

inline constexpr char kBuffer[] = "an object with a contiguous buffer, such as bytes";

inline bool to_memory(PyObject* object, const Place& place, View* view, Memory* out) {
  if (!view->open(object, PyBUF_C_CONTIGUOUS)) return refuse_argument(place, kBuffer, object);
  *out = {view->buffer().buf, size_t(view->buffer().len)};
  return true;
}

inline bool to_memory(PyObject* object, const Place& place, View* view, WritableMemory* out) {
  if (!view->open(object, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) {
    return refuse_argument(place, "an object with a writable, contiguous buffer, such as a bytearray", object);
  }
  *out = {view->buffer().buf, size_t(view->buffer().len)};
  return true;
}

}  // namespace ht

#endif

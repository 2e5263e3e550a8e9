// The arguments of a call from Python: their order and names, and the exception for a wrong one. The words are those of
// halftone/arguments.py, which is loaded when the first argument is refused. Every function expects the GIL.
#ifndef HALFTONE_BINDINGS_PYTHON_ARGUMENTS_H
#define HALFTONE_BINDINGS_PYTHON_ARGUMENTS_H

#include <string.h>

#include "shim.h"

namespace ht {

// Owns one reference.
class Object {
 public:
  explicit Object(PyObject* object) : object_(object) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Calls halftone.<module>.<function>(...) and returns a new reference.
template <class... Arguments>
PyObject* call_python(const char* module, const char* function, const char* format, Arguments... arguments) {
  const Object imported(PyImport_ImportModule(module));
  return imported ? PyObject_CallMethod(imported.get(), function, format, arguments...) : nullptr;
}

// The argument of a function that is converted, with the index of an item of a sequence.
struct Place {
  const char* function;
  const char* name;
  Py_ssize_t index = -1;
};

// Raises the exception for an argument that is not what the place expects. Returns false.
inline bool refuse_argument(const Place& place, const char* expected, PyObject* given) {
  PyObject *type = nullptr, *cause = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &cause, &trace);
  PyErr_NormalizeException(&type, &cause, &trace);
  const Object owned_type(type), owned_cause(cause), owned_trace(trace);
  const Object made(call_python("halftone.arguments", "wrong_value", "ssnsOO", place.function, place.name, place.index,
                                expected, given, cause == nullptr ? Py_None : cause));
  if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
  return false;
}

// Raises the exception for too many arguments, an unknown name, an argument that is given twice, or a missing one.
inline bool refuse_call(const char* function, char* const* names, Py_ssize_t required, PyObject* positional,
                        PyObject* keywords) {
  Py_ssize_t count = 0;
  while (names[count] != nullptr) ++count;
  const Object known(PyTuple_New(count));
  for (Py_ssize_t i = 0; known && i < count; ++i) {
    PyTuple_SetItem(known.get(), i, PyUnicode_FromString(names[i]));
  }
  if (!known) return false;
  const Object made(call_python("halftone.arguments", "wrong_call", "sOnOO", function, known.get(), required,
                                positional, keywords == nullptr ? Py_None : keywords));
  if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
  return false;
}

inline PyObject** find_argument(PyObject* name, char* const* names, PyObject** const* found, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return found[i];
  }
  return nullptr;
}

// Stores borrowed references. The format is that of SWIG: "OO|O:function", where the bar follows the required ones.
inline bool find_arguments(PyObject* positional, PyObject* keywords, const char* format, char* const* names,
                           PyObject** const* found, Py_ssize_t count) {
  const Py_ssize_t given = PyTuple_Size(positional), required = Py_ssize_t(strcspn(format, "|:"));
  bool is_right = given <= count;
  for (Py_ssize_t i = 0; is_right && i < given; ++i) *found[i] = PyTuple_GetItem(positional, i);
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (is_right && keywords != nullptr && PyDict_Next(keywords, &at, &key, &value)) {
    PyObject** const place = find_argument(key, names, found, count);
    is_right = place != nullptr && *place == nullptr;
    if (is_right) *place = value;
  }
  for (Py_ssize_t i = given; is_right && i < required; ++i) is_right = *found[i] != nullptr;
  return is_right || refuse_call(strchr(format, ':') + 1, names, required, positional, keywords);
}

// Takes the place of PyArg_ParseTupleAndKeywords in the generated functions.
template <class... Found>
bool read_arguments(PyObject* positional, PyObject* keywords, const char* format, char* const* names, Found... found) {
  PyObject** const places[] = {found...};
  return find_arguments(positional, keywords, format, names, places, Py_ssize_t(sizeof...(found)));
}

// A function with no argument but the object of a method, as CPython calls it with METH_FASTCALL | METH_KEYWORDS.
// CPython's own refusal of other arguments would name the C function, and count the object.
inline PyObject* call_with_object(const char* function, PyCFunction wrapped, bool has_object, PyObject* self,
                                  PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (count == Py_ssize_t(has_object) && keywords == nullptr) return wrapped(self, has_object ? arguments[0] : nullptr);
  char object[] = "self";
  char* const names[] = {has_object ? object : nullptr, nullptr};
  const Object positional(PyTuple_New(count)), named(PyDict_New());
  if (!positional || !named) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(positional.get(), i, arguments[i]);
  }
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i) {
    if (PyDict_SetItem(named.get(), PyTuple_GetItem(keywords, i), arguments[count + i]) != 0) return nullptr;
  }
  refuse_call(function, names, Py_ssize_t(has_object), positional.get(), named.get());
  return nullptr;
}

}  // namespace ht

// The entry of a method table for such a function; bindings/python/finish_wrapper.py writes it.
#define HT_CALL_WITH_OBJECT(name, wrapped, has_object)                                                    \
  (PyCFunction)(void (*)(void)) +                                                                         \
      [](PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) -> PyObject* { \
    return ht::call_with_object(name, wrapped, has_object, self, arguments, count, keywords);             \
  }

#endif

/* Python: names are unchanged, optional parameters are keywords, results are values, tuples and objects. A failure
 * raises the exception that halftone.errors makes. */

/* Types of shim.h, so that SWIG finds their names within the namespace. */
namespace ht {
class Integers;
class Texts;
struct Memory;
struct WritableMemory;
struct Bytes;
class Callback;
class CallbackOrNone;
class IntegersOrNone;
typedef const char* TextOrNone;
}
%{
namespace ht {
using CallbackOrNone = Callback;
using IntegersOrNone = Integers;
using TextOrNone = const char*;
}  // namespace ht
%}

%feature("kwargs");
%feature("compactdefaultargs");

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    ht::raise(error, "$symname");
    SWIG_fail;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    SWIG_fail;
  }
}

/* A wrong argument raises an exception that names the function and the parameter (arguments.h). */
%{
#undef PyArg_ParseTupleAndKeywords
#define PyArg_ParseTupleAndKeywords ht::read_arguments
#define HT_PLACE(function, name) ht::Place{function, name}
%}

%define %halftone_argument(TYPE, CONVERSION)
%typemap(in) TYPE {
  if (!CONVERSION($input, HT_PLACE("$symname", "$1_name"), &$1)) SWIG_fail;
}
%enddef
%halftone_argument(bool, ht::to_bool)
%halftone_argument(double, ht::to_float)
%halftone_argument(int32_t, ht::to_integer)
%halftone_argument(int64_t, ht::to_integer)
%halftone_argument(uint64_t, ht::to_integer)
%halftone_argument(size_t, ht::to_integer)
%halftone_argument(void* thing, ht::to_any_handle)

/* A type with OrNone is that of a parameter that may be absent. */
%typemap(in) const char* (ht::Text text) {
  if (!text.take($input, HT_PLACE("$symname", "$1_name"))) SWIG_fail;
  $1 = const_cast<char*>(text.get());
}
%typemap(freearg) const char* ""
%typemap(in) ht::TextOrNone (ht::Text text) {
  if ($input != Py_None && !text.take($input, HT_PLACE("$symname", "$1_name"))) SWIG_fail;
  $1 = const_cast<char*>(text.get());
}
%typemap(in) const ht::Integers& (ht::Integers copy) {
  if (!ht::to_integers($input, HT_PLACE("$symname", "$1_name"), &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::IntegersOrNone& (ht::Integers copy) {
  if ($input != Py_None && !ht::to_integers($input, HT_PLACE("$symname", "$1_name"), &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::Texts& (ht::Texts copy) {
  if (!ht::to_texts($input, HT_PLACE("$symname", "$1_name"), &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::Memory& (ht::View view, ht::Memory memory) {
  if (!ht::to_memory($input, HT_PLACE("$symname", "$1_name"), &view, &memory)) SWIG_fail;
  $1 = &memory;
}
%typemap(in) const ht::WritableMemory& (ht::View view, ht::WritableMemory memory) {
  if (!ht::to_memory($input, HT_PLACE("$symname", "$1_name"), &view, &memory)) SWIG_fail;
  $1 = &memory;
}
%typemap(in) ht::Callback& (ht::Callback made) {
  if (!ht::to_callback($input, HT_PLACE("$symname", "$1_name"), &made)) SWIG_fail;
  $1 = &made;
}
%typemap(in) ht::CallbackOrNone& (ht::Callback made) {
  if ($input != Py_None && !ht::to_callback($input, HT_PLACE("$symname", "$1_name"), &made)) SWIG_fail;
  $1 = &made;
}

%feature("novaluewrapper") ht::Integers;
%typemap(out) ht::Integers "$result = ht::from_integers($1);"
%typemap(out) ht::Integers* "$result = ht::from_integers(*$1);"
%typemap(in) ht::Integers* (ht::Integers copy) {
  if (!ht::to_integers($input, HT_PLACE("$symname", "$1_name"), &copy)) SWIG_fail;
  $1 = &copy;
}
%feature("novaluewrapper") ht::Bytes;
%typemap(out) ht::Bytes "$result = PyBytes_FromStringAndSize($1.content.data(), Py_ssize_t($1.content.size()));"
%typemap(out) std::string "$result = ht::from_text($1);"
%typemap(out) std::string* "$result = ht::from_text(*$1);"
%typemap(in) std::string {
  ht::Text text;
  if (!text.take($input, HT_PLACE("$symname", "$1_name"))) SWIG_fail;
  $1 = text.get();
}

%define %halftone_enumeration(TYPE)
%typemap(in) ht::TYPE {
  if (!ht::to_enumeration($input, #TYPE, HT_PLACE("$symname", "$1_name"), &$1)) SWIG_fail;
}
%typemap(out) ht::TYPE "$result = ht::from_enumeration(\"TYPE\", $1);"
%enddef

%define %halftone_structure(TYPE)
%feature("novaluewrapper") ht::TYPE;
%typemap(in) ht::TYPE*, const ht::TYPE& {
  if (!ht::to_handle($input, $descriptor(ht::TYPE*), $disown | SWIG_POINTER_NO_NULL, HT_PLACE("$symname", "$1_name"),
                     #TYPE, &$1)) SWIG_fail;
}
%enddef

/* In a list of TYPE##OrNone None stands for an absent object. */
%define %halftone_handles(TYPE)
namespace ht { class TYPE##List; class TYPE##OrNoneList; }
%typemap(in) ht::TYPE* {
  if (!ht::to_handle($input, $descriptor(ht::TYPE*), $disown | SWIG_POINTER_NO_NULL, HT_PLACE("$symname", "$1_name"),
                     #TYPE, &$1)) SWIG_fail;
}
%typemap(in) ht::TYPE##OrNone* {
  if (!ht::to_handle($input, $descriptor(ht::TYPE*), 0, HT_PLACE("$symname", "$1_name"), #TYPE, &$1)) SWIG_fail;
}
%typemap(in) const ht::TYPE##List& (ht::TYPE##List copy) {
  if (!ht::to_handles($input, $descriptor(ht::TYPE*), SWIG_POINTER_NO_NULL, HT_PLACE("$symname", "$1_name"), #TYPE,
                      "a sequence of " #TYPE " objects", &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::TYPE##OrNoneList& (ht::TYPE##List copy) {
  if ($input != Py_None && !ht::to_handles($input, $descriptor(ht::TYPE*), 0, HT_PLACE("$symname", "$1_name"), #TYPE,
                                           "a sequence of " #TYPE " objects", &copy)) SWIG_fail;
  $1 = &copy;
}
%feature("novaluewrapper") ht::TYPE##List;
%typemap(out) ht::TYPE##List "$result = ht::from_handles($1, $descriptor(ht::TYPE*));"
%enddef

/* A closed object keeps its handle. The library never reuses a handle's value, so it returns INVALID_HANDLE. After the
 * end of a scope of handles an object owns none any more; the library notices that when the object is collected. */
%define %halftone_handle(TYPE)
%extend TYPE {
%pythoncode %{
    def close(self):
        """Releases the object now; closing it again does nothing."""
        if self.thisown:
            self.__swig_destroy__(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
%}
}
%enddef

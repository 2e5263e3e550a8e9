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
}

%feature("kwargs");
%feature("compactdefaultargs");

%exception {
  try {
    $action
  } catch (const halftone_bindings::StatusError& error) {
    ht::raise(error);
    SWIG_fail;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    SWIG_fail;
  }
}

%typemap(in) const ht::Integers& (ht::Integers copy) {
  if (!ht::to_integers($input, &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::Texts& (ht::Texts copy) {
  if (!ht::to_texts($input, &copy)) SWIG_fail;
  $1 = &copy;
}
%typemap(in) const ht::Memory& (ht::View view, ht::Memory memory) {
  if (!ht::to_memory($input, &view, &memory)) SWIG_fail;
  $1 = &memory;
}
%typemap(in) const ht::WritableMemory& (ht::View view, ht::WritableMemory memory) {
  if (!ht::to_memory($input, &view, &memory)) SWIG_fail;
  $1 = &memory;
}

%typemap(in) ht::Callback& (ht::Callback made) {
  if (!ht::to_callback($input, &made)) SWIG_fail;
  $1 = &made;
}

%feature("novaluewrapper") ht::Integers;
%typemap(out) ht::Integers "$result = ht::from_integers($1);"
%typemap(out) ht::Integers* "$result = ht::from_integers(*$1);"
%typemap(in) ht::Integers* (ht::Integers copy) {
  if (!ht::to_integers($input, &copy)) SWIG_fail;
  $1 = &copy;
}
%feature("novaluewrapper") ht::Bytes;
%typemap(out) ht::Bytes "$result = PyBytes_FromStringAndSize($1.content.data(), Py_ssize_t($1.content.size()));"
%typemap(out) std::string "$result = ht::from_text($1);"
%typemap(out) std::string* "$result = ht::from_text(*$1);"
%typemap(in) std::string* (std::string copy) {
  ht::Texts texts;
  const ht::Object item(PyTuple_Pack(1, $input));
  if (!item || !ht::to_texts(item.get(), &texts)) SWIG_fail;
  copy = texts[0];
  $1 = &copy;
}

%define %halftone_enumeration(TYPE)
%typemap(in) ht::TYPE {
  int value = 0;
  if (!ht::to_enumeration($input, #TYPE, &value)) SWIG_fail;
  $1 = ht::TYPE(value);
}
%typemap(out) ht::TYPE "$result = ht::from_enumeration(\"TYPE\", int($1));"
%enddef

%define %halftone_structure(TYPE)
%feature("novaluewrapper") ht::TYPE;
%enddef

%define %halftone_handles(TYPE)
namespace ht { class TYPE##List; }
%typemap(in) const ht::TYPE##List& (ht::TYPE##List copy) {
  if (!ht::to_handles($input, $descriptor(ht::TYPE*), &copy)) SWIG_fail;
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

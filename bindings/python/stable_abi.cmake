# One wheel for CPython 3.11 and every later version: ninja halftone_stable_wheel. It needs a SWIG of 4.4 or later, such
# as PyPI's, because the code of Debian's SWIG 4.1 does not compile with Py_LIMITED_API:
#
#   python3 -m venv build/release/swig-venv && build/release/swig-venv/bin/pip install swig==4.4.1
#
# 3.11 is the first version whose stable ABI has buffers, without which no array could be shared.
set(HALFTONE_NEW_SWIG ${CMAKE_BINARY_DIR}/swig-venv/bin/swig CACHE FILEPATH
    "A SWIG of 4.4 or later, for the stable ABI")

set(stable ${CMAKE_CURRENT_BINARY_DIR}/stable)
set(stable_wrapper ${stable}/halftone_python.cxx)
# -fastproxy uses functions of CPython that the stable ABI does not have.
function(halftone_generate_stable_wrapper)
  set(SWIG_EXECUTABLE ${HALFTONE_NEW_SWIG})
  halftone_generate_wrapper(python halftone_python.i ${stable_wrapper} ${stable}
    DEPENDS ${HALFTONE_GENERATED_INTERFACE}/halftone_api.i ${CMAKE_CURRENT_SOURCE_DIR}/plain_functions.py
    THEN COMMAND ${HALFTONE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/plain_functions.py ${stable}/halftone.py
    BYPRODUCTS ${stable}/halftone.py)
endfunction()
halftone_generate_stable_wrapper()

add_library(halftone_python_stable MODULE EXCLUDE_FROM_ALL ${stable_wrapper})
halftone_link_wrapper(halftone_python_stable python ${stable_wrapper})
target_include_directories(halftone_python_stable SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_compile_definitions(halftone_python_stable PRIVATE Py_LIMITED_API=0x030B0000)
set_target_properties(halftone_python_stable PROPERTIES
  PREFIX "" OUTPUT_NAME _halftone SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY ${stable}
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")

add_custom_target(halftone_stable_wheel
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/make_wheel.py --stable ${stable} ${CMAKE_COMMAND}
          ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${CMAKE_BINARY_DIR}/wheels $<TARGET_SONAME_FILE:halftone>
          $<TARGET_FILE:halftone-run> ${plugins}
  COMMENT "Making the Python wheel for the stable ABI in ${CMAKE_BINARY_DIR}/wheels"
  VERBATIM)
add_dependencies(halftone_stable_wheel halftone_python_stable halftone_python_package halftone halftone-run)
if(TARGET halftone_gloo)
  add_dependencies(halftone_stable_wheel halftone_gloo)
endif()

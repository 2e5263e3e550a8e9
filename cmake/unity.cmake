# Sources of one folder are compiled as one file: their headers are read once, which halves the time of a build. They must
# not define the same name in an anonymous namespace.
function(halftone_unite_folders target)
  if(NOT HALFTONE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    string(REPLACE "/" "_" folder ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
endfunction()

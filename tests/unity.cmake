# Sources of a room's tests compile eight at a time, which halves the time to build them: most of it goes into headers.
# As in impl, they must not define the same name in an anonymous namespace.
set(HALFTONE_UNITED_ROOMS autograd checkpoint comm core nn ops optim parallel runtime tensor trainer)
# These define a name of another source of the room, so they compile alone.
set(HALFTONE_SEPARATE_TESTS
    "checkpoint/large_index_test" "comm/(collectives|failures|gloo_[a-z]+|shared_memory_[a-z]+)_test"
    "ops/cases/(join|matmul|norm|pool|view)_cases" "ops/gemm_schedule_test"
    "parallel/(gloo_training|replicate|sharded_[a-z]+|training)_test" "trainer/shared_save_faults_test")

function(halftone_unite_tests room sources)
  if(NOT HALFTONE_UNITY OR NOT room IN_LIST HALFTONE_UNITED_ROOMS)
    return()
  endif()
  set_target_properties(test_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  foreach(pattern ${HALFTONE_SEPARATE_TESTS})
    set(separate ${sources})
    list(FILTER separate INCLUDE REGEX "/tests/${pattern}\\.cpp$")
    set_source_files_properties(${separate} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

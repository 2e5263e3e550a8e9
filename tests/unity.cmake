# Sources of a room's tests compile eight at a time, or those of a folder together where the room has folders, which halves
# the time to build them: most of it goes into headers. As in impl, they must not define the same name in an anonymous
# namespace.
set(HALFTONE_UNITED_ROOMS autograd checkpoint comm core cpu nn ops optim parallel runtime tensor resume)
# These define a name of another source, so they compile alone.
set(HALFTONE_SEPARATE_TESTS
    "checkpoint/large_index_test" "comm/(collectives|failures|gloo_[a-z]+|shared_memory_[a-z]+)_test"
    "cpu/elementwise/(strided_operands|tail_accuracy)_test" "cpu/(norm/[a-z_]+|random/random)_test"
    "cpu/optim/(adafactor|adamw|block_code|histogram|rmsprop|sgd|stochastic_rounding|storage)_test"
    "ops/cases/(join|matmul|norm|order_statistics|pool|range|scatter|search|view)_cases" "ops/gemm_schedule_test"
    "parallel/[a-z]+/(gloo_training|replicate|sharded_[a-z]+|training)_test" "resume/shared_save_faults_test")

function(halftone_unite_tests room sources)
  if(NOT HALFTONE_UNITY OR NOT room IN_LIST HALFTONE_UNITED_ROOMS)
    return()
  endif()
  set(united ${sources})
  foreach(pattern ${HALFTONE_SEPARATE_TESTS})
    list(FILTER united EXCLUDE REGEX "/tests/${pattern}\\.cpp$")
  endforeach()
  if(room STREQUAL cpu)
    halftone_unite_folders(test_cpu ${united})
    return()
  endif()
  set_target_properties(test_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  set(separate ${sources})
  list(REMOVE_ITEM separate ${united})
  set_source_files_properties(${separate} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

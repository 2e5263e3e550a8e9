# The tiers of the tests, as CTest labels:
#
#   quick     a test that takes less than a second on one core: after every change (tests/run quick)
#   full      the others that fit a run of continuous integration, which runs both
#   nightly   hours: whole input spaces; and tests of the checks of the tree (tests/run exhaustive)
#
# A test is quick unless it is listed here. Every CMakeLists.txt that adds tests ends with halftone_set_tiers().
set(HALFTONE_FULL_TESTS
    "abi\\.|bindings\\.|cuda\\.|docs\\.|exchange\\.|exhaustive\\.|package\\.|samples\\.|vectors\\.are_what"
    "tools\\.(describe_api|halftone_run|hash_seam|headers|install_packages|missing_packages|tests_run)"
    "capi\\.(custom_function|host|instruction_sets|linear_cross_entropy|memory_faults|memory_retry|misuse)"
    "capi\\.(nn_depth|steady)")
list(JOIN HALFTONE_FULL_TESTS "|" HALFTONE_FULL_TESTS)
# And tests of the checks themselves, which plant faults in copies of the tree; and second compilations: of a binding, and
# by nvcc.
set(HALFTONE_NIGHTLY_TESTS "exhaustive\\..*_all|abi\\.planted_faults|tools\\.planted_faults|package\\.cuda_plugin|"
    "bindings\\.python_stable_wheel")
list(JOIN HALFTONE_NIGHTLY_TESTS "" HALFTONE_NIGHTLY_TESTS)

# GoogleTest's filter for those of a room.
set(HALFTONE_FULL_CASES_cpu
    "Conv.CutsTallImages*:Conv.ReadsImages*:Conv.GivesTheSameBits*:Gemm.MultipliesPairs*:Gemm.ReadsAndWrites*"
    "Gemm.DoesNotDepend*:OptimStorage.*:LogSumExp.AndItsGradient*:SplitMaster.RestoresEveryPattern"
    "Binary.GivesTheSameBits*:*UnaryAccuracy.IsWithin*:Conv.SlidesEveryWindow*:Exponential.IsWithin*"
    "Pool.SharesPlanes*:Cast.ReadsBackwards*:VectorNorm.AndItsGradient*:Variance.AndItsGradient*"
    "Gemm.FinishesEachTile*:MinMaxBackward.SharesTheGradient*:Conv.RoundsOnce*")
set(HALFTONE_FULL_CASES_ops
    "*OpGradients*/*cross_entropy:*OpGradients*/scaled_dot_product_attention:*OpGradients*/vector_norm:*OnCuda*")
set(HALFTONE_FULL_CASES_cuda "ConvOnCuda.*:AttentionOnCuda.*:NormsOnCuda.*:RowNormsOnCuda.*:ReductionsOnCuda.*")
set(HALFTONE_FULL_CASES_nccl
    "NcclGroups.LargeDeterministic*:*NcclTraining*:*NcclShard*:CommFailures.ARankThatLeaves*:*CollectivesTest*/*_on_8")
set(HALFTONE_FULL_CASES_cuda_training "*HasTheBitsOfOrdinarySteps/gpt*")
set(HALFTONE_FULL_CASES_checkpoint "CrashTest.P4_S7_EveryState*:Large*:SafetensorsHeaderTest.F6_*")
set(HALFTONE_FULL_CASES_trainer "SharedSaveFaults.*:SharedSaveKills.*:GlooSaveKills.*:GlooSurvivors.*")
set(HALFTONE_FULL_CASES_parallel "*GlooTrainingTest.*:*OffloadTest.WeightsHaveTheBits*")
set(HALFTONE_FULL_CASES_autograd "EngineTest.AMillionNodes*")
set(HALFTONE_FULL_CASES_comm
    "*GlooCollectivesTest.*:GlooCreation.D10_Missing*:GlooCreation.D19_NoDescriptor*:GlooFailures.D1_ARankKilledIn*"
    "GlooFailures.D2_*:GlooFailures.D8_OneOperationMore*:GlooNetwork.D3_*:GlooNetwork.D5_*:*SharedMemoryCollectivesTest*/8"
    "SharedMemoryFailures.D2_AProcessThatIsStoppedForEver*")

# Adds the program's tests as ROOM.SUITE.NAME.
function(halftone_discover_tests room)
  set(settings TEST_PREFIX "${room}." DISCOVERY_TIMEOUT 60)
  list(JOIN HALFTONE_FULL_CASES_${room} ":" full)
  if(full STREQUAL "")
    gtest_discover_tests(test_${room} ${settings} PROPERTIES TIMEOUT 300 LABELS quick)
    return()
  endif()
  gtest_discover_tests(test_${room} ${settings} TEST_LIST quick_${room} TEST_FILTER "-${full}"
                       PROPERTIES TIMEOUT 300 LABELS quick)
  gtest_discover_tests(test_${room} ${settings} TEST_LIST full_${room} TEST_FILTER "${full}"
                       PROPERTIES TIMEOUT 300 LABELS full COST 50)
endfunction()

# Labels the tests that the calling folder has added with add_test.
function(halftone_set_tiers)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    if(test MATCHES "^(${HALFTONE_NIGHTLY_TESTS})$")
      set_tests_properties(${test} PROPERTIES LABELS nightly)
    elseif(test MATCHES "^(${HALFTONE_FULL_TESTS})")
      set_tests_properties(${test} PROPERTIES LABELS full)
    else()
      set_tests_properties(${test} PROPERTIES LABELS quick)
    endif()
  endforeach()
endfunction()

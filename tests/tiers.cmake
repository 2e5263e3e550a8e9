# The tiers of the tests, as CTest labels:
#
#   quick     a test that takes less than a second on one core: after every change (tests/run quick)
#   full      the others that fit a run of continuous integration, which runs both
#   nightly   hours: whole input spaces; and tests of the checks of the tree (tests/run exhaustive)
#
# A test is quick unless it is listed here. Every CMakeLists.txt that adds tests ends with halftone_set_tiers(). Under a
# sanitizer, tests that do not run on each commit have the label of their turn instead (turns.cmake).
include(${CMAKE_CURRENT_LIST_DIR}/turns.cmake)
set(HALFTONE_FULL_TESTS
    "abi\\.|bindings\\.|cuda\\.|docs\\.|exchange\\.|exhaustive\\.|package\\.|samples\\.|vectors\\.are_what"
    "tools\\.(describe_api|halftone_analyze|halftone_report|halftone_run|hash_seam|headers|missing_packages|report_in_browser)"
    "capi\\.(custom_function|host|instruction_sets|linear_cross_entropy|memory_faults|memory_retry|misuse)"
    "capi\\.(nn_depth|steady)")
list(JOIN HALFTONE_FULL_TESTS "|" HALFTONE_FULL_TESTS)
# And tests of the checks themselves, which plant faults in copies of the tree; second compilations: of a binding, and by
# nvcc; and PyTorch's examples and operator tests, which install it.
set(HALFTONE_NIGHTLY_TESTS "exhaustive\\..*_all|abi\\.planted_faults|tools\\.planted_faults|package\\.cuda_plugin|"
    "bindings\\.python_(opinfo|stable_wheel|torch_docstrings)")
list(JOIN HALFTONE_NIGHTLY_TESTS "" HALFTONE_NIGHTLY_TESTS)

# GoogleTest's filter for those of a room.
set(HALFTONE_FULL_CASES_cpu
    "Conv.CutsTallImages*:Conv.ReadsImages*:Conv.GivesTheSameBits*:Gemm.MultipliesPairs*:Gemm.ReadsAndWrites*"
    "Gemm.DoesNotDepend*:OptimStorage.*:SplitMaster.RestoresEveryPattern"
    "Binary.GivesTheSameBits*:*UnaryAccuracy.IsWithin*:Conv.SlidesEveryWindow*:Exponential.IsWithin*"
    "Pool.SharesPlanes*:Cast.ReadsBackwards*:GemmOfCodes.EveryLayout*"
    "Gemm.AddsUpTheRowsOfA:Gemm.TheSumsOf*:Gemm.FinishesEachTile*:MinMaxBackward.SharesTheGradient*:Conv.RoundsOnce*")
set(HALFTONE_FULL_CASES_ops
    "ScaledTest.HaveTheCodes*:ScaledTest.AreRoundedUp*:"
    "*OpGradients*/*cross_entropy:*OpGradients*/scaled_dot_product_attention:*OpGradients*/vector_norm:*OnCuda*")
set(HALFTONE_FULL_CASES_cuda "ConvOnCuda.*:AttentionOnCuda.*:NormsOnCuda.*:RowNormsOnCuda.*:ReductionsOnCuda.*")
set(HALFTONE_FULL_CASES_nccl
    "NcclGroups.LargeDeterministic*:*NcclTraining*:*NcclShard*:CommFailures.ARankThatLeaves*:*CollectivesTest*/*_on_8")
set(HALFTONE_FULL_CASES_cuda_training "*HasTheBitsOfOrdinarySteps/gpt*")
set(HALFTONE_FULL_CASES_checkpoint "CrashTest.P4_S7_EveryState*:Large*:SafetensorsHeaderTest.F6_*")
set(HALFTONE_FULL_CASES_resume "SharedSaveFaults.*:SharedSaveKills.*:GlooSaveKills.*:GlooSurvivors.*")
set(HALFTONE_FULL_CASES_parallel
    "*GlooTrainingTest.*:*OffloadTest.WeightsHaveTheBits*:*Deterministic.EveryRecipe*:ShardedDeterministic.Dropout*"
    "ShardedDeterministic.ALanguage*:ShardedPrecision.*")
set(HALFTONE_FULL_CASES_autograd "EngineTest.AMillionNodes*")
set(HALFTONE_FULL_CASES_comm
    "*GlooCollectivesTest.*:GlooCreation.D10_Missing*:GlooCreation.D19_NoDescriptor*:GlooFailures.D1_ARankKilledIn*"
    "GlooFailures.D2_*:GlooFailures.D8_OneOperationMore*:GlooNetwork.D3_*:GlooNetwork.D5_*:*SharedMemoryCollectivesTest*/8"
    "SharedMemoryFailures.D2_AProcessThatIsStoppedForEver*")

# Adds the program's tests as ROOM.SUITE.NAME. CTest adds labels and cannot change one, so under a sanitizer
# room_turns.cmake gives them.
function(halftone_discover_tests room)
  set(settings TEST_PREFIX "${room}." DISCOVERY_TIMEOUT 60)
  halftone_find_sanitizer(sanitizer)
  list(JOIN HALFTONE_FULL_CASES_${room} ":" full)
  set(quick LABELS quick)
  set(long LABELS full)
  if(sanitizer)
    set(quick "")
    set(long "")
  endif()
  if(full STREQUAL "")
    gtest_discover_tests(test_${room} ${settings} TEST_LIST quick_${room} PROPERTIES TIMEOUT 300 ${quick})
    return()
  endif()
  gtest_discover_tests(test_${room} ${settings} TEST_LIST quick_${room} TEST_FILTER "-${full}"
                       PROPERTIES TIMEOUT 300 ${quick})
  gtest_discover_tests(test_${room} ${settings} TEST_LIST full_${room} TEST_FILTER "${full}"
                       PROPERTIES TIMEOUT 300 ${long} COST 50)
endfunction()

# ADDRESS or THREAD in the tree of such a sanitizer, else empty.
function(halftone_find_sanitizer result)
  set(${result} "" PARENT_SCOPE)
  foreach(sanitizer address thread)
    if(HALFTONE_SANITIZE MATCHES "${sanitizer}")
      string(TOUPPER ${sanitizer} name)
      set(${result} ${name} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# For the tests of halftone_discover_tests, after the last of them.
function(halftone_set_turns_of_rooms rooms)
  halftone_find_sanitizer(sanitizer)
  if(NOT sanitizer)
    return()
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/room_turns.cmake)
  file(WRITE ${file} "set(rooms \"${rooms}\")\nset(sanitizer ${sanitizer})\n"
                     "include(${CMAKE_CURRENT_SOURCE_DIR}/room_turns.cmake)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# Labels the tests that the calling folder has added with add_test.
function(halftone_set_tiers)
  get_property(tests DIRECTORY PROPERTY TESTS)
  halftone_find_sanitizer(sanitizer)
  get_property(place GLOBAL PROPERTY HALFTONE_TESTS_WITH_TURNS)
  math(EXPR place "0${place}")
  foreach(test ${tests})
    set(tier quick)
    if(test MATCHES "^(${HALFTONE_NIGHTLY_TESTS})$")
      set(tier nightly)
    elseif(test MATCHES "^(${HALFTONE_FULL_TESTS})")
      set(tier full)
    endif()
    halftone_find_turn()
    if(turn)
      set(tier ${turn})
    endif()
    set_tests_properties(${test} PROPERTIES LABELS ${tier})
  endforeach()
  set_property(GLOBAL PROPERTY HALFTONE_TESTS_WITH_TURNS ${place})
endfunction()

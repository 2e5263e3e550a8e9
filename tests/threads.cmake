# The tests that ThreadSanitizer's tree builds: those in which several threads work. Arithmetic of one thread cannot
# race, and takes ten times longer there. In the operations' cases every kernel shares its work among threads, in one
# dtype.
# One pattern for each entry: CMake allows ten pairs of parentheses in a regular expression.
set(HALFTONE_THREAD_TESTS
    "core/(io|log|ref)_test" "runtime/(allocator|context|quota|plugin)_test" "cpu/threads/thread_pool_test"
    "cpu/select/.*" "offload/.*" "cpu/optim/(adafactor|adamw|grad_norm|average)_test" "comm/.*"
    "ops/.*" "autograd/(engine|parameter)_test" "nn/batch_norm_test" "nn/recompute_threads_test" "optim/.*" "parallel/.*"
    "resume/(sharded_resume|shared_checkpoint|shared_save)_test" "analysis/(monitor|statistics)_test"
    "capi/[a-z]+/(amp|autograd|checkpoint|checkpoint_processes|context|data|dlpack|grad_scaler|hooks|host|host_checkpoint)_test"
    "capi/[a-z]+/(callback_modes|host_cancel|host_limits|host_modes|interrupt|optim|release_in_callbacks|schedule_callback|scope_stack)_test"
    "capi/[a-z]+/(ddp|fsdp|fsdp_monitor|group|steady|store|stub_device|threads|trainer_parts)_test")

# Removes from the list of sources the tests that ThreadSanitizer's tree leaves out.
function(halftone_keep_thread_tests list)
  if(NOT HALFTONE_SANITIZE MATCHES "thread")
    return()
  endif()
  set(kept "")
  foreach(source ${${list}})
    foreach(pattern ${HALFTONE_THREAD_TESTS})
      if(source MATCHES "/tests/${pattern}\\.c(pp)?$")
        list(APPEND kept ${source})
        break()
      endif()
    endforeach()
  endforeach()
  # Asks how many bytes ranks hold, not how their threads meet.
  list(FILTER kept EXCLUDE REGEX "/parallel/shard/sharded_memory_test\\.cpp$")
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# The tests of these suites take turns under a sanitizer, where some of each take seconds: tests/run chooses the turn by
# the number of the commit, so that HALFTONE_TURNS successive commits run all of them. The release tree runs all on each
# commit. Neighbours have different turns, so each commit runs some variants of every suite that has many.
set(HALFTONE_TURNS 8)
# One pattern for each entry: CMake allows ten pairs of parentheses in a regular expression.
set(HALFTONE_TURNS_OF_ADDRESS
    "capi\\.(autograd|custom_function|host|memory_faults|misuse|nn_depth)_test"
    "checkpoint\\.(CrashTest|DirectoryFaultsTest|DirectoryTest|LargeIndexTest|LargeTokensTest|RanksTest)\\."
    "comm\\.(Algorithms|Calls/|CommFailures|GlooFailures|GlooNetwork|Ranks/|SharedMemoryFailures)"
    "core\\.ScalarFormat\\."
    "cpu\\.(Adafactor|BlockCode|Cast|Conv|CumulativeSum|ElementwiseLayouts|Exponential|Gemm|GradNorm|LogSumExp)\\."
    "cpu\\.(LossOfElements|MinMax|MinMaxBackward|MomentDecay|OptimStorage|OrderKernel|Pool|Rmsprop|Softmax)\\."
    "cpu\\.(GemmOfCodes|SplitMaster|StochasticRounding|UnaryAccuracy|Variance)\\."
    "exhaustive\\.kill_sample"
    "ops\\.(Ops/|ScaledTest\\.)"
    "optim\\.(OptimizerTest|ShardedStepTest)\\."
    "parallel\\.(CodedAverage|CodedShards|Deterministic|Kinds/|Ranks/|SentCodes|ShardedDeterministic|ShardedPrecision|Shards/)"
    "samples\\."
    "tensor\\.NameIndex\\."
    "resume\\.")
set(HALFTONE_TURNS_OF_THREAD
    "capi\\.(autograd|checkpoint|host|stub_device)_test"
    "comm\\.(Algorithms|Calls/|CommFailures|GlooFailures|GlooNetwork|Ranks/|SharedMemoryCollectives|SharedMemoryFailures)"
    "cpu\\.(Adafactor|GradNorm)\\."
    "offload\\.Kinds/PageTest\\."
    "ops\\.(AttentionOnThreads|Ops/|ScaledTest\\.)"
    "optim\\.(OptimizerTest|ShardedStepTest)\\."
    "parallel\\.(Kinds/|Ranks/|Replicate\\.|SentCodes|ShardedAverages|ShardedDeterministic|ShardedPeak|ShardedPlan)"
    "parallel\\.(CodedAverage|CodedShards|Deterministic|ShardedPrecision|Shards/)"
    "resume\\.")

# Sets `turn` to the label of the variable `test`: turn0, turn1 and so on, empty where it runs on each commit. `place`
# counts the tests that take turns, and `sanitizer` is ADDRESS, THREAD or empty. Each round of turns begins one later:
# else a suite of as many variants as turns, such as numbers of ranks, would run one of them alone.
macro(halftone_find_turn)
  set(turn "")
  foreach(pattern ${HALFTONE_TURNS_OF_${sanitizer}})
    if(test MATCHES "^${pattern}")
      math(EXPR number "(${place} + ${place} / ${HALFTONE_TURNS}) % ${HALFTONE_TURNS}")
      math(EXPR place "${place} + 1")
      set(turn turn${number})
      break()
    endif()
  endforeach()
endmacro()

# The objects of the library that its plugins for groups compile into themselves.
set(HALFTONE_GROUP_PLUGIN_SOURCES backend/build_id.cpp core/dtype.cpp core/error.cpp core/fork_hook.cpp core/log.cpp
                                  core/object_pool.cpp)
# A group over NCCL runs no messages of the library.
set(HALFTONE_NCCL_PARTS comm/control/roster.cpp comm/control/watch.cpp comm/collectives/call_record.cpp
                        comm/collectives/flight_recorder.cpp comm/collectives/header.cpp comm/collectives/operands.cpp
                        comm/collectives/operation_thread.cpp comm/collectives/pending_work.cpp)
list(TRANSFORM HALFTONE_GROUP_PLUGIN_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/impl/)
list(TRANSFORM HALFTONE_NCCL_PARTS PREPEND ${PROJECT_SOURCE_DIR}/impl/)

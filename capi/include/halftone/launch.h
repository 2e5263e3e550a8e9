/** @file
 * Programs that a launcher starts as many processes: halftone-run, torchrun, mpirun or srun. A program that calls these
 * functions also runs alone, as the only rank.
 *
 * @code
 * htone_group* group;
 * htone_launch launch = HTONE_LAUNCH_INIT;
 * check(htone_launch_read(&launch));
 * check(htone_group_create_launched(device, NULL, &group));
 * assert(launch.rank < launch.size);
 * check(htone_group_release(group));
 * @endcode
 */
#ifndef HALFTONE_LAUNCH_H
#define HALFTONE_LAUNCH_H

#include "halftone/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** This process's place in a run. */
typedef struct htone_launch {
  uint32_t struct_size; /**< set by the caller to sizeof(htone_launch) */
  int32_t rank;         /**< of this process, 0 to size - 1 */
  int32_t size;         /**< number of processes */
  int32_t local_rank;   /**< of this process among those of this machine */
  int32_t local_size;   /**< number of processes on this machine */
  char launcher[28];    /**< "halftone-run", "torchrun", "mpirun", "srun" or "none" */
} htone_launch;

/** An empty htone_launch of the right size, to initialize one where it is declared. */
#define HTONE_LAUNCH_INIT \
  { sizeof(htone_launch), 0, 1, 0, 1, "" }

/** Sets struct_size, and the other fields to the only rank of a run, as HTONE_LAUNCH_INIT does.
 *
 * @param[out] launch caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_launch_init(htone_launch* launch);

/** Returns which of how many processes this one is, by the environment variables that launchers set: RANK, WORLD_SIZE,
 * LOCAL_RANK and LOCAL_WORLD_SIZE; those of Open MPI (OMPI_COMM_WORLD_RANK and so on), of MPICH (PMI_RANK) and of Slurm
 * (SLURM_PROCID). Without them the process is the only one.
 *
 * @param[in,out] out_launch struct_size set by the caller; the other fields are written.
 * @errors INVALID_ARGUMENT (also for a variable whose value is no rank or size; the message names it).
 * @since 0.1
 */
HTONE_API htone_status htone_launch_read(htone_launch* out_launch);

/** Creates the group of all processes of a run. Its kind is "single" for one process, or HALFTONE_GROUP names it; a run
 * whose HALFTONE_STORE is the path of a file store gets "shared_memory", and any other "gloo", with a TCP store that
 * rank 0 serves at MASTER_ADDR and MASTER_PORT (torchrun: the port after it; Slurm: on the job's first machine, with a
 * port of the job's number), and whose secret is HALFTONE_SECRET. The plugin libhalftone_gloo.so is loaded from the
 * library's directory if it is needed and not loaded yet. halftone-run sets these variables itself.
 *
 * @param[in] device whose memory the operations use; retained.
 * @param[in] options optional; NULL means the defaults. Rank and size are those of the run, whatever is set here.
 * @param[out] out the group; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also for a wrong or missing variable), UNSUPPORTED, COMM, TIMEOUT,
 *   PEER_LOST, IO, FORMAT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_group_create_launched(htone_device* device, const htone_group_options* options,
                                                   htone_group** out);

#ifdef __cplusplus
}
#endif

#endif

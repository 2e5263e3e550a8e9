/** @file
 * Checkpoints: a directory that always holds a complete one, and single files in the safetensors format.
 *
 * DIR/step-N/ holds rank-0-of-1.safetensors, which other programs can read, and index.json with a checksum of
 * everything. Ranks that write together have a file each, rank-R-of-N.safetensors. A save writes under temporary names,
 * syncs, and renames the index last; a load uses the highest step of which every byte verifies. Both go from tensor to
 * tensor: beside the live state they need memory for one tensor at most. The two newest are kept. If power fails or the
 * process dies at any instant, the previous checkpoint is complete. A file is read, never mapped, and every byte of it
 * is treated as hostile; nothing in it is ever executed. Files of others in the directory are neither written nor
 * removed, and nothing is written through a link in it.
 *
 * @code
 * htone_checkpoint* checkpoint;
 * check(htone_checkpoint_create(context, "run", &checkpoint));
 * check(htone_checkpoint_add_module(checkpoint, "model", model));
 * check(htone_checkpoint_save(checkpoint, 100));
 * check(htone_checkpoint_load(checkpoint, &count));
 * assert(count == 100);
 * @endcode
 */
#ifndef HALFTONE_CHECKPOINT_H
#define HALFTONE_CHECKPOINT_H

#include "halftone/comm.h"
#include "halftone/data.h"
#include "halftone/ema.h"
#include "halftone/grad_scaler.h"
#include "halftone/state_dict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A directory of checkpoints, and the parts of the run that they hold. */
typedef struct htone_checkpoint htone_checkpoint;

/** Opens a directory of checkpoints for one training run, and locks it against other writers until the release. The
 * parts of the run are added next; the state of the context's random sequences always belongs to it. After fork() the
 * child may load with this object but must open the directory again to save; with a custom htone_io, that table
 * decides if the child inherits the lock. A load writes nothing. If the directory holds checkpoints, and its lock file
 * DIR/.lock cannot be made or opened for writing (EACCES, EPERM, EROFS, ENOSPC, EDQUOT), the object is created without
 * the lock, and its first save takes the lock or fails with IO. Without the lock another process may save at the same
 * time: a load gets the newest checkpoint that is complete, never a mix of two, but fails with IO or FORMAT if the
 * other process removes the checkpoints that it tries while it reads them. It may then be repeated.
 *
 * @param[in] context whose file and clock tables are used; borrowed.
 * @param[in] directory UTF-8; made if it does not exist, in a directory that exists.
 * @param[out] out the checkpoint object; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (also for a directory without checkpoints that may not be written to),
 *   STATE (another writer has locked the directory), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_create(htone_context* context, const char* directory, htone_checkpoint** out);

/** Opens a directory of checkpoints for a run of several ranks. Every rank calls this, and then each of add, save and
 * load at the same place. All ranks must see the same files. An error of one rank is an error of all, and names the
 * rank. Each rank saves and loads the state of its own random sequences. If the ranks hold the same state, such as
 * those that average their gradients, rank 0 writes it. If an entry of some rank is a range of a tensor, every rank
 * writes the ranges that it has into a file of its own. Of the ranks that have the same range, or the whole tensor, the
 * lowest writes it; scalars are those of rank 0. Ranges that overlap in part, or leave a gap, are FORMAT naming the
 * tensor. A rank that has written its file waits for the others as long as the timeout of the group's operations. Any
 * number of ranks loads a checkpoint, whatever number wrote it: each verifies a share of the bytes, and then reads the
 * parts of tensors that overlap its own ranges.
 *
 * @param[in] context as in htone_checkpoint_create.
 * @param[in] directory as in htone_checkpoint_create.
 * @param[in] group retained.
 * @param[out] out the checkpoint object; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, STATE, UNSUPPORTED, COMM, PEER_LOST, TIMEOUT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_create_shared(htone_context* context, const char* directory, htone_group* group,
                                                      htone_checkpoint** out);

/** Adds a reference.
 *
 * @param[in] checkpoint a checkpoint object.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_retain(htone_checkpoint* checkpoint);

/** Releases a reference; with the last one the lock of the directory is released.
 *
 * @param[in] checkpoint optional; a checkpoint object.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_checkpoint_release(htone_checkpoint* checkpoint);

/** Adds a module: its parameters and buffers by their names.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name of this part in the checkpoint, such as "model": 1 to 4096 bytes of UTF-8 without a slash or control
 *   characters, not yet taken; copied.
 * @param[in] module retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_module(htone_checkpoint* checkpoint, const char* name,
                                                   htone_module* module);

/** Adds an optimizer: its moments, step count, and the settings of its groups, which a load replaces. Its weights are
 * saved with the module.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name as in htone_checkpoint_add_module.
 * @param[in] optimizer retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_optimizer(htone_checkpoint* checkpoint, const char* name,
                                                      htone_optimizer* optimizer);

/** Adds a gradient scaler: its scale, and the counters for the next change of it.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name as in htone_checkpoint_add_module.
 * @param[in] scaler retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_grad_scaler(htone_checkpoint* checkpoint, const char* name,
                                                        htone_grad_scaler* scaler);

/** Adds averages of weights, and the number of their updates. The weights themselves are saved with their module. A
 * save and a load fail with STATE while the averages are swapped with the weights.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name as in htone_checkpoint_add_module.
 * @param[in] ema retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_ema(htone_checkpoint* checkpoint, const char* name, htone_ema* ema);

/** Adds a sampler: its position.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name as in htone_checkpoint_add_module.
 * @param[in] sampler retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_sampler(htone_checkpoint* checkpoint, const char* name,
                                                    htone_sampler* sampler);

/** Adds tensors of the program, which a load writes in place. A load fails with STATE if one of them has read-only
 * memory or overlapping elements.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] name as in htone_checkpoint_add_module.
 * @param[in] state_dict retained, and read when a checkpoint is saved or loaded.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_add_state_dict(htone_checkpoint* checkpoint, const char* name,
                                                       htone_state_dict* state_dict);

/** Saves everything that was added as the checkpoint of a step. It is durable when this returns; then all but the two
 * newest checkpoints are removed. On a file system that cannot sync a directory (fsync reports EINVAL) names become
 * durable when that file system writes them.
 *
 * @param[in] checkpoint borrowed; no other thread may change the added parts meanwhile.
 * @param[in] step at least 0, above that of every complete checkpoint in the directory.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (this or a later step exists, a scaler waits for its update,
 *   averages are swapped with the weights, the last load failed half-way, this process is a fork of the one that
 *   opened the directory, or another writer has a new directory of the same name), IO (errno in native_code), FORMAT,
 *   OUT_OF_MEMORY; for ranks of a group also COMM (they save different steps), PEER_LOST, TIMEOUT. After an error the
 *   checkpoints are those from before, and the same step may be saved again; only if a rank is lost after the others
 *   have written everything, the new checkpoint may exist. If the incomplete files could not be removed, this object
 *   ignores them, and its next save removes them first.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_save(htone_checkpoint* checkpoint, int64_t step);

/** Loads the newest checkpoint that verifies into all added parts or none, so that training continues as if it had
 * never stopped. Later checkpoints that are damaged are reported to the log callback and skipped. The files are read
 * twice, and stay open, so their removal does no harm. The first reading verifies every byte and compares everything
 * with the added parts, before anything is written. The second one writes each tensor to its destination and verifies
 * it again. If the disk or a device fails only then, or another process changed a file in place, the state is a mix of
 * two: the message of that error says that the state was partly loaded, and htone_checkpoint_save returns STATE until
 * a load succeeds. After any other error nothing has changed. htone_checkpoint_load_with (partial_load.h) loads into
 * optimizers that hold other parameters than the saved ones, or keep their settings.
 *
 * @param[in] checkpoint borrowed; no other thread may use the added parts meanwhile.
 * @param[out] out_step the step; -1 if the directory holds no checkpoint, and then nothing has changed.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, FORMAT (none verifies, or it does not fit the added parts), UNSUPPORTED
 *   (of a newer version), STATE, IO, DEVICE, OUT_OF_MEMORY; for ranks of a group also COMM, PEER_LOST, TIMEOUT.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_load(htone_checkpoint* checkpoint, int64_t* out_step);

/** Returns the newest checkpoint of the directory, without a check of its content.
 *
 * @param[in] checkpoint borrowed.
 * @param[out] out_step the step; -1 if the directory holds no checkpoint.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_latest(htone_checkpoint* checkpoint, int64_t* out_step);

/** Compares all of a checkpoint with its checksums.
 *
 * @param[in] checkpoint borrowed.
 * @param[in] step of a checkpoint in the directory.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, FORMAT (damaged), UNSUPPORTED, IO (ENOENT: no such checkpoint),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_checkpoint_verify(htone_checkpoint* checkpoint, int64_t step);

/** Writes tensors as one file in the safetensors format. The old file at the path stays complete until the new one is;
 * a process that ends in the middle leaves its incomplete file beside it, as path.tmp-PID-NUMBER. The new file keeps
 * the read, write and execute bits of the file that it replaces, or of the file that a replaced link points to,
 * already while it is written. It belongs to the user who saves, not to the old owner. The group is kept if the system
 * allows it; otherwise the group keeps only the rights that everybody has. Access control lists are not kept. With a
 * custom htone_io the permissions are those that its `open` sets for a new file. A device, FIFO or socket at the path,
 * such as /dev/null, is not replaced: IO.
 *
 * @param[in] context whose file table is used; borrowed.
 * @param[in] path of the file, UTF-8; its directory exists.
 * @param[in] state_dict borrowed.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (errno in native_code), FORMAT (names of more than 100 MB; a tensor
 *   named __metadata__), OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_safetensors_save(htone_context* context, const char* path, htone_state_dict* state_dict);

/** Reads a file in the safetensors format. Its first byte after the header's length must be the opening brace, and only
 * spaces may follow the closing one, as the format says; the format's own package also accepts tabs and line ends in
 * both places.
 *
 * @param[in] device of the new tensors; borrowed.
 * @param[in] path of the file, UTF-8.
 * @param[out] out every tensor of the file, in the order of their bytes; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (errno in native_code), FORMAT (no valid safetensors file, or more than
 *   2^18 texts of metadata: the message names file and tensor), UNSUPPORTED (a dtype or number of dimensions that this
 *   library does not have), OUT_OF_MEMORY.
 * @source https://github.com/huggingface/safetensors
 * @since 0.1
 */
HTONE_API htone_status htone_safetensors_load(htone_device* device, const char* path, htone_state_dict** out);

#ifdef __cplusplus
}
#endif

#endif

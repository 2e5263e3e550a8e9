/* Limits of the system on a program that saves and loads: permissions, disk space, descriptors. Each limit is set in a
 * child, under another user, because root is exempt. Test names begin with their rows of tests/faults.md. */
#define _GNU_SOURCE /* unshare */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_child.h"
#include "test_run.h"
#include "test_tensors.h"

static const RunKind kKind = {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

static const char kNotAnotherUser[] =
    "no child may become another user here, mount what it needs, or reach the folder of the test";

/* The parent makes this for a child. */
typedef struct Place {
  char path[512];
  Run run;
  htone_checkpoint* checkpoint;
} Place;

/* Makes a directory with the given mode and a run that has trained a little. */
static Place make_place(mode_t mode) {
  Place place = {.run = {NULL}};
  snprintf(place.path, sizeof place.path, "%s/open", test_folder());
  assert_int_equal(chmod(test_folder(), 0755), 0);
  assert_int_equal(mkdir(place.path, 0700), 0);
  assert_int_equal(chmod(place.path, mode), 0); /* sets the mode regardless of the umask */
  assert_ok(begin_run(&place.run, &kKind, NULL));
  assert_ok(train_step(&place.run));
  return place;
}

static const char* inside(const Place* place, const char* name) {
  static char path[600];
  snprintf(path, sizeof path, "%s/%s", place->path, name);
  return path;
}

/* True if the system refused the last call with this errno. */
static int refused_with(htone_status status, int number) {
  htone_error_info info = {.struct_size = sizeof info};
  return status == HTONE_ERROR_IO && htone_error_last(&info) == HTONE_OK && info.native_code == number;
}

/* The folders above the place may be closed to other users. */
static int become_other_user_at(const Place* place) { return become_other_user() && access(place->path, W_OK) == 0; }

/* Opens the run's directory and saves step 1 there. */
static int begin_saving(Place* place) {
  if (!become_other_user_at(place)) return kCannotTry;
  if (htone_checkpoint_create(place->run.context, inside(place, "run"), &place->checkpoint) != HTONE_OK) return 1;
  if (add_parts(place->checkpoint, &place->run) != HTONE_OK) return 2;
  return htone_checkpoint_save(place->checkpoint, 1) == HTONE_OK ? 0 : 3;
}

/* Saving step 2 was refused: step 1 is still there, training continues, and step 2 can be saved once the system allows
 * it. */
static int go_on(Place* place) {
  int64_t step = 0;
  if (access(inside(place, "run/step-2/index.json"), F_OK) == 0) return 20;
  if (htone_checkpoint_verify(place->checkpoint, 1) != HTONE_OK) return 21;
  if (htone_checkpoint_load(place->checkpoint, &step) != HTONE_OK || step != 1) return 22;
  if (train_step(&place->run) != HTONE_OK) return 23;
  if (htone_checkpoint_save(place->checkpoint, 2) != HTONE_OK) return 24;
  return htone_checkpoint_verify(place->checkpoint, 2) == HTONE_OK ? 0 : 25;
}

static void expect_code_0(int (*child)(void*), Place* place) {
  const int code = code_of_child(child, place);
  htone_checkpoint_release(place->checkpoint);
  end_run(&place->run);
  if (code == kCannotTry) skip_test(kNotAnotherUser);
  assert_int_equal(code, 0);
}

static int save_into_read_only_directory(void* argument) {
  Place* place = argument;
  int code = begin_saving(place);
  if (code != 0) return code;
  if (chmod(inside(place, "run"), 0555) != 0) return 10;
  if (!refused_with(htone_checkpoint_save(place->checkpoint, 2), EACCES)) return 11;
  htone_checkpoint* other = NULL;
  if (mkdir(inside(place, "closed"), 0555) != 0) return 12;
  if (!refused_with(htone_checkpoint_create(place->run.context, inside(place, "closed"), &other), EACCES)) return 13;
  if (!refused_with(htone_checkpoint_create(place->run.context, inside(place, "closed/run"), &other), EACCES))
    return 14;
  if (chmod(inside(place, "run"), 0755) != 0) return 15;
  return go_on(place);
}

static void s6_a_save_into_a_read_only_directory_is_refused(void** state) {
  (void)state;
  Place place = make_place(0777);
  expect_code_0(save_into_read_only_directory, &place);
}

/* Returns 0 if a new object loads step 1 and is refused with EACCES when it saves step 2. */
static int loads_alone(Place* place) {
  htone_checkpoint* reader = NULL;
  int64_t step = 0;
  int code = 0;
  if (htone_checkpoint_create(place->run.context, inside(place, "run"), &reader) != HTONE_OK) return 30;
  if (add_parts(reader, &place->run) != HTONE_OK) code = 31;
  if (code == 0 && (htone_checkpoint_load(reader, &step) != HTONE_OK || step != 1)) code = 32;
  if (code == 0 && !refused_with(htone_checkpoint_save(reader, 2), EACCES)) code = 33;
  return htone_checkpoint_release(reader) == HTONE_OK ? code : 34;
}

/* First the lock file may not be written, then there is none and none may be made. */
static int load_from_read_only_directory(void* argument) {
  Place* place = argument;
  int code = begin_saving(place);
  if (code != 0) return code;
  if (htone_checkpoint_release(place->checkpoint) != HTONE_OK) return 10;
  place->checkpoint = NULL;
  if (chmod(inside(place, "run/.lock"), 0444) != 0 || chmod(inside(place, "run"), 0555) != 0) return 11;
  code = loads_alone(place);
  if (code != 0) return code;
  if (chmod(inside(place, "run"), 0755) != 0 || unlink(inside(place, "run/.lock")) != 0) return 12;
  if (chmod(inside(place, "run"), 0555) != 0) return 13;
  code = loads_alone(place);
  if (code != 0) return code;
  if (chmod(inside(place, "run"), 0755) != 0) return 14;
  if (htone_checkpoint_create(place->run.context, inside(place, "run"), &place->checkpoint) != HTONE_OK) return 15;
  return add_parts(place->checkpoint, &place->run) == HTONE_OK ? go_on(place) : 16;
}

static void s17_a_directory_that_may_only_be_read_is_loaded(void** state) {
  (void)state;
  Place place = make_place(0777);
  expect_code_0(load_from_read_only_directory, &place);
}

/* Limits the file size: without care, the first write beyond the limit would raise SIGXFSZ. */
static int save_beyond_file_size(void* argument) {
  Place* place = argument;
  int code = begin_saving(place);
  if (code != 0) return code;
  for (uint64_t bytes = 0; bytes < 20000; bytes += 4999) {
    if (!set_soft_limit(RLIMIT_FSIZE, bytes)) return 10;
    if (!refused_with(htone_checkpoint_save(place->checkpoint, 2), EFBIG)) return 11;
  }
  if (!set_soft_limit(RLIMIT_FSIZE, RLIM_INFINITY)) return 12;
  return go_on(place);
}

static void s6_a_save_beyond_the_limit_on_files_is_refused_without_a_signal(void** state) {
  (void)state;
  Place place = make_place(0777);
  expect_code_0(save_beyond_file_size, &place);
}

static int save_without_descriptors(void* argument) {
  Place* place = argument;
  int code = begin_saving(place);
  if (code != 0) return code;
  const int next = open("/", O_RDONLY);
  if (next < 0 || close(next) != 0) return 10;
  if (!set_soft_limit(RLIMIT_NOFILE, (uint64_t)next)) return 11;
  if (!refused_with(htone_checkpoint_save(place->checkpoint, 2), EMFILE)) return 12;
  htone_state_dict* read = NULL;
  if (!refused_with(
          htone_safetensors_load(place->run.device, inside(place, "run/step-1/rank-0-of-1.safetensors"), &read),
          EMFILE)) {
    return 13;
  }
  int64_t step = 0;
  if (!refused_with(htone_checkpoint_load(place->checkpoint, &step), EMFILE)) return 14;
  if (!set_soft_limit(RLIMIT_NOFILE, 256)) return 15;
  const int after = open("/", O_RDONLY);
  if (after != next) return 16; /* a descriptor was left open */
  close(after);
  return go_on(place);
}

static void s6_a_save_without_descriptors_is_refused(void** state) {
  (void)state;
  if (kSanitized) skip_test("a sanitizer opens a pipe to look at the exception");
  skip_under_valgrind();
  Place place = make_place(0777);
  expect_code_0(save_without_descriptors, &place);
}

static htone_state_dict* state_of_one(double value) {
  htone_state_dict* state = NULL;
  assert_ok(htone_state_dict_create(&state));
  keep_state_dict(state);
  assert_ok(htone_state_dict_add(state, "a", make_tensor(HTONE_F64, &value, 1, 1)));
  return state;
}

typedef struct Replacement {
  Place place;
  htone_state_dict* state;
} Replacement;

static int replace_file_of_another(void* argument) {
  Replacement* replacement = argument;
  const Place* place = &replacement->place;
  if (!become_other_user_at(place)) return kCannotTry;
  const char* path = inside(place, "file");
  if (!refused_with(htone_safetensors_save(place->run.context, path, replacement->state), EPERM)) return 1;
  glob_t left;
  return glob(inside(place, "file.tmp*"), 0, NULL, &left) == GLOB_NOMATCH ? 0 : 2;
}

/* In a sticky directory only the owner of a file may replace it. */
static void s5_a_file_that_cannot_be_renamed_over_stays(void** state) {
  (void)state;
  if (geteuid() != 0) skip_test("only root can leave a file to another user");
  Replacement replacement = {.place = make_place(01777), .state = state_of_one(2)};
  htone_state_dict* read = NULL;
  htone_tensor* found = NULL;
  const char* path = inside(&replacement.place, "file");
  assert_ok(htone_safetensors_save(test_context(), path, state_of_one(1)));
  const int code = code_of_child(replace_file_of_another, &replacement);
  end_run(&replacement.place.run);
  if (code == kCannotTry) skip_test(kNotAnotherUser);
  assert_int_equal(code, 0);
  assert_ok(htone_safetensors_load(test_device(), inside(&replacement.place, "file"), &read));
  assert_ok(htone_state_dict_find(keep_state_dict(read), "a", &found));
  assert_values(keep_tensor(found), 0, 1);
}

static int load_without_permission(void* argument) {
  Place* place = argument;
  htone_state_dict* read = NULL;
  int code = begin_saving(place);
  if (code != 0) return code;
  const char* path = inside(place, "run/step-1/rank-0-of-1.safetensors");
  int64_t step = 0;
  if (chmod(path, 0) != 0) return 10;
  if (!refused_with(htone_safetensors_load(place->run.device, path, &read), EACCES)) return 11;
  if (!refused_with(htone_checkpoint_load(place->checkpoint, &step), EACCES)) return 12;
  if (chmod(inside(place, "run/step-1/rank-0-of-1.safetensors"), 0600) != 0) return 13;
  return htone_checkpoint_load(place->checkpoint, &step) == HTONE_OK && step == 1 ? 0 : 14;
}

static void f21_a_file_without_permission_is_reported(void** state) {
  (void)state;
  Place place = make_place(0777);
  expect_code_0(load_without_permission, &place);
}

/* Fills the file system of `path` until `left` bytes are free. */
static int fill_disk(const char* path, size_t left) {
  static const char block[4096];
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 0;
  off_t size = 0;
  for (ssize_t moved = 1; moved > 0; size += moved) {
    moved = write(file, block, sizeof block);
    if (moved < 0) break;
  }
  const int done = ftruncate(file, size - (off_t)left) == 0;
  return close(file) == 0 && done;
}

/* Uses a file system of one megabyte that is mounted in this child only. */
static int save_on_full_disk(void* argument) {
  Place* place = argument;
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return kCannotTry;
  if (mount("tmpfs", place->path, "tmpfs", 0, "size=1m,mode=0777") != 0) return kCannotTry;
  int code = begin_saving(place);
  if (code != 0) return code;
  for (size_t left = 0; left <= 32768; left += 8192) {
    if (!fill_disk(inside(place, "filler"), left)) return 10;
    if (!refused_with(htone_checkpoint_save(place->checkpoint, 2), ENOSPC)) return 11;
    if (access(inside(place, "run/step-2"), F_OK) == 0) return 12;
  }
  if (unlink(inside(place, "filler")) != 0) return 13;
  return go_on(place);
}

static void s2_a_full_disk_keeps_the_checkpoint_before(void** state) {
  (void)state;
  skip_under_valgrind();
  Place place = make_place(0777);
  expect_code_0(save_on_full_disk, &place);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(s2_a_full_disk_keeps_the_checkpoint_before),
      cmocka_unit_test(s5_a_file_that_cannot_be_renamed_over_stays),
      cmocka_unit_test(s6_a_save_into_a_read_only_directory_is_refused),
      cmocka_unit_test(s6_a_save_beyond_the_limit_on_files_is_refused_without_a_signal),
      cmocka_unit_test(s6_a_save_without_descriptors_is_refused),
      cmocka_unit_test(s17_a_directory_that_may_only_be_read_is_loaded),
      cmocka_unit_test(f21_a_file_without_permission_is_reported),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}

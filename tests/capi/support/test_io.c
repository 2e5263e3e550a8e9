#include "test_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t before(void* user, const char* call) {
  TestIo* io = user;
  return io->before == NULL ? 0 : io->before(io, call);
}

static int64_t answer(int64_t result) { return result < 0 ? -errno : result; }

static int64_t answer_bytes(const TestIo* io, int64_t moved) { return moved < 0 ? -errno : moved + io->excess; }

static int64_t io_open(void* user, const char* path, int32_t flags, uint32_t mode) {
  const int64_t refused = before(user, "open");
  return refused < 0 ? refused : answer(open(path, flags | O_CLOEXEC, (mode_t)mode));
}

static int64_t io_close(void* user, int64_t file) {
  before(user, "close");
  return answer(close((int)file));
}

static int64_t io_read(void* user, int64_t file, uint64_t offset, void* buffer, size_t size) {
  const int64_t refused = before(user, "read");
  return refused < 0 ? refused : answer_bytes(user, pread((int)file, buffer, size, (off_t)offset));
}

static int64_t io_write(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size) {
  const int64_t refused = before(user, "write");
  return refused < 0 ? refused : answer_bytes(user, pwrite((int)file, buffer, size, (off_t)offset));
}

static int64_t io_size(void* user, int64_t file) {
  struct stat status;
  const int64_t refused = before(user, "size");
  if (refused < 0) return refused;
  if (fstat((int)file, &status) != 0) return -errno;
  return S_ISREG(status.st_mode) ? (int64_t)status.st_size : -EINVAL;
}

static int64_t io_sync(void* user, int64_t file) {
  const int64_t refused = before(user, "sync");
  return refused < 0 ? refused : answer(fsync((int)file));
}

static int64_t io_rename(void* user, const char* from, const char* to) {
  const int64_t refused = before(user, "rename");
  return refused < 0 ? refused : answer(rename(from, to));
}

static int64_t io_remove(void* user, const char* path) {
  const int64_t refused = before(user, "remove");
  return refused < 0 ? refused : answer(remove(path));
}

static int64_t io_make_directory(void* user, const char* path, uint32_t mode) {
  const int64_t refused = before(user, "make_directory");
  return refused < 0 ? refused : answer(mkdir(path, (mode_t)mode));
}

static int64_t io_list(void* user, const char* path, int64_t (*take)(void* taker, const char* name), void* taker) {
  const int64_t refused = before(user, "list");
  if (refused < 0) return refused;
  DIR* directory = opendir(path);
  if (directory == NULL) return -errno;
  int64_t result = 0;
  for (const struct dirent* entry = readdir(directory); entry != NULL && result >= 0; entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) result = take(taker, entry->d_name);
  }
  closedir(directory);
  return result;
}

static int64_t io_lock(void* user, int64_t file) {
  const int64_t refused = before(user, "lock");
  return refused < 0 ? refused : answer(flock((int)file, LOCK_EX | LOCK_NB));
}

void begin_io(TestIo* io, int64_t (*before_call)(TestIo* io, const char* call), void* of_test) {
  io->before = before_call;
  io->of_test = of_test;
  io->excess = 0;
  io->table = (htone_io){.struct_size = sizeof io->table,
                         .user = io,
                         .open = io_open,
                         .close = io_close,
                         .read = io_read,
                         .write = io_write,
                         .size = io_size,
                         .sync = io_sync,
                         .rename = io_rename,
                         .remove = io_remove,
                         .make_directory = io_make_directory,
                         .list = io_list,
                         .lock = io_lock};
}

htone_context* make_io_context(TestIo* io) {
  htone_context* context = NULL;
  htone_context_options options;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 2;
  options.io = &io->table;
  assert_ok(htone_context_create(&options, &context));
  return keep_context(context);
}

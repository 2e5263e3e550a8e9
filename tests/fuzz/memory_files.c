#include "memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxFiles = 16, kMaxPath = 128, kDirectory = 1000, kMaxSize = 1 << 24, kMaxAllocation = 1 << 24 };

typedef struct File {
  char path[kMaxPath]; /* empty if this entry is free */
  unsigned char* data;
  size_t size;
  size_t room; /* allocated bytes at data */
} File;

static File files[kMaxFiles];

static File* find(const char* path) {
  for (int i = 0; i < kMaxFiles; ++i) {
    if (files[i].path[0] != 0 && strcmp(files[i].path, path) == 0) return &files[i];
  }
  return NULL;
}

static File* add(const char* path) {
  for (int i = 0; i < kMaxFiles; ++i) {
    if (files[i].path[0] != 0 || path[0] == 0 || strlen(path) >= kMaxPath) continue;
    strcpy(files[i].path, path);
    return &files[i];
  }
  return NULL;
}

static void drop(File* file) {
  free(file->data);
  memset(file, 0, sizeof *file);
}

/* Doubles the size, so that a file written in small pieces is not copied for each piece. */
static int64_t make_room(File* file, size_t size) {
  if (size < file->room) return 0;
  const size_t room = 2 * size + 1;
  unsigned char* data = size <= kMaxSize ? realloc(file->data, room) : NULL;
  if (data == NULL) return -ENOSPC;
  file->data = data;
  file->room = room;
  return 0;
}

static int64_t resize(File* file, size_t size) {
  if (make_room(file, size) != 0) return -ENOSPC;
  if (size > file->size) memset(file->data + file->size, 0, size - file->size);
  file->size = size;
  return 0;
}

static int64_t open_file(void* user, const char* path, int32_t flags, uint32_t mode) {
  (void)user, (void)mode;
  File* file = find(path);
  if (flags & O_DIRECTORY) return kDirectory;
  if (file == NULL && (flags & O_CREAT)) file = add(path);
  if (file == NULL) return flags & O_CREAT ? -ENOSPC : -ENOENT;
  if (flags & O_TRUNC) file->size = 0;
  return file - files;
}

static int64_t close_file(void* user, int64_t file) {
  (void)user, (void)file;
  return 0;
}

static int64_t read_file(void* user, int64_t file, uint64_t offset, void* buffer, size_t size) {
  (void)user;
  if (file == kDirectory) return -EISDIR;
  if (offset >= files[file].size) return 0;
  const size_t left = files[file].size - (size_t)offset;
  const size_t taken = size < left ? size : left;
  memcpy(buffer, files[file].data + offset, taken);
  return (int64_t)taken;
}

static int64_t write_file(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size) {
  (void)user;
  if (file == kDirectory) return -EISDIR;
  if (offset > kMaxSize || size > kMaxSize) return -ENOSPC;
  if (offset + size > files[file].size && resize(&files[file], (size_t)offset + size) != 0) return -ENOSPC;
  memcpy(files[file].data + offset, buffer, size);
  return (int64_t)size;
}

static int64_t size_of_file(void* user, int64_t file) {
  (void)user;
  return file == kDirectory ? -EINVAL : (int64_t)files[file].size;
}

static int64_t accept_file(void* user, int64_t file) {
  (void)user, (void)file;
  return 0;
}

static int64_t rename_file(void* user, const char* from, const char* to) {
  (void)user;
  File *source = find(from), *old = find(to);
  if (source == NULL || strlen(to) >= kMaxPath) return -ENOENT;
  if (old != NULL) drop(old);
  strcpy(source->path, to);
  return 0;
}

static int64_t remove_file(void* user, const char* path) {
  (void)user;
  File* file = find(path);
  if (file != NULL) drop(file);
  return 0;
}

static int64_t make_directory(void* user, const char* path, uint32_t mode) {
  (void)user, (void)path, (void)mode;
  return 0;
}

/* A name may be reported twice, once for each file below it. */
static int64_t list_directory(void* user, const char* path, int64_t (*take)(void* taker, const char* name),
                              void* taker) {
  const size_t length = strlen(path);
  int64_t result = 0;
  (void)user;
  for (int i = 0; i < kMaxFiles && result >= 0; ++i) {
    if (strncmp(files[i].path, path, length) != 0 || files[i].path[length] != '/') continue;
    char name[kMaxPath];
    strcpy(name, files[i].path + length + 1);
    name[strcspn(name, "/")] = 0;
    result = take(taker, name);
  }
  return result < 0 ? result : 0;
}

static int64_t no_time(void* user) {
  (void)user;
  return 0;
}

static const htone_io* memory_io(void) {
  static const htone_io table = {.struct_size = sizeof table,
                                 .open = open_file,
                                 .close = close_file,
                                 .read = read_file,
                                 .write = write_file,
                                 .size = size_of_file,
                                 .sync = accept_file,
                                 .rename = rename_file,
                                 .remove = remove_file,
                                 .make_directory = make_directory,
                                 .list = list_directory,
                                 .lock = accept_file};
  return &table;
}

static const htone_clock* stopped_clock(void) {
  static const htone_clock table = {.struct_size = sizeof table, .monotonic_ns = no_time, .wall_ns = no_time};
  return &table;
}

void put_file(const char* path, const void* data, size_t size) {
  File* file = find(path);
  if (file == NULL) file = add(path);
  require(file != NULL && resize(file, size) == 0, "there is room for a file");
  if (size > 0) memcpy(file->data, data, size);
}

void remove_files(void) {
  for (int i = 0; i < kMaxFiles; ++i) drop(&files[i]);
}

const unsigned char* file_bytes(const char* path, size_t* out_size) {
  const File* file = find(path);
  if (file != NULL) *out_size = file->size;
  return file != NULL ? file->data : NULL;
}

/* Refuses sizes that an input only claims, before the machine's memory would. */
static void* allocate(void* user, size_t size, size_t alignment) {
  (void)user;
  void* memory = NULL;
  if (size > kMaxAllocation) return NULL;
  return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0 ? memory : NULL;
}

static void deallocate(void* user, void* memory, size_t size) {
  (void)user, (void)size;
  free(memory);
}

static htone_context* context;
static htone_device* device;

static void make_device(void) {
  static const htone_allocator allocator = {
      .struct_size = sizeof allocator, .allocate = allocate, .deallocate = deallocate};
  htone_context_options options;
  require(htone_context_options_init(&options) == HTONE_OK, "options");
  options.num_threads = 1;
  options.allocator = &allocator;
  options.io = memory_io();
  options.clock = stopped_clock();
  require(htone_context_create(&options, &context) == HTONE_OK, "a context");
  require(htone_device_create(context, "cpu", &device) == HTONE_OK, "a device");
}

htone_device* memory_device(htone_context** out_context) {
  if (device == NULL) make_device();
  if (out_context != NULL) *out_context = context;
  return device;
}

void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

void require_no_handles(void) {
  int64_t live = -1;
  require(htone_debug_live_handles(&live) == HTONE_OK && live == 2, "the context and its device alone are left");
}

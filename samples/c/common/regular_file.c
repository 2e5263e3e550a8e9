#define _POSIX_C_SOURCE 200809L
#include "regular_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "failure.h"

bool regular_file_check(const char* flag, const char* path, const char* expected, int64_t* out_size) {
  struct stat status;
  if (stat(path, &status) != 0) {
    print_error("%s%s: %s; %s", flag, path, strerror(errno), expected);
  } else if (!S_ISREG(status.st_mode)) {
    print_error("%s%s: is %s; %s", flag, path, S_ISDIR(status.st_mode) ? "a directory" : "no regular file", expected);
  } else if (status.st_size == 0) {
    print_error("%s%s: is empty; %s", flag, path, expected);
  } else {
    *out_size = (int64_t)status.st_size;
    return true;
  }
  return false;
}

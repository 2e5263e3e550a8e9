#define _POSIX_C_SOURCE 200809L
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* A path has at most 4096 bytes, so every message fits. */
enum { kLineCapacity = 4608 };

bool ok(htone_status status) {
  if (status == HTONE_OK) return true;
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  if (htone_error_last(&info) == HTONE_OK && info.message[0] != '\0') {
    print_error("%s", info.message);
  } else {
    print_error("%s", htone_status_name(status));
  }
  return false;
}

void print_error(const char* format, ...) {
  char line[kLineCapacity];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  /* Flags and file names come from outside: a newline or an escape sequence in one must not reach the terminal. */
  for (char* c = line; *c != '\0'; ++c) {
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  }
  /* The cursor may be after a progress bar. */
  if (isatty(STDERR_FILENO)) fputs("\r\x1b[K", stderr);
  fprintf(stderr, "error: %s\n", line);
}

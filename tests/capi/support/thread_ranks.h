/* Ranks that are threads of the test, each with a context of its own. */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "halftone/halftone.h"

typedef struct ThreadRank {
  int number;
  int size;
  htone_context* context; /* of one thread; its seed is the rank's number */
  htone_device* device;
  htone_group* group; /* of the kind "threads" */
} ThreadRank;

/* CMocka's assertions leave a test by longjmp, which only its own thread may do. */
#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      abort();                                                                      \
    }                                                                               \
  } while (0)
#define REQUIRE_OK(call) REQUIRE((call) == HTONE_OK)

/* Runs body on a thread for each rank, when all have joined their group, and returns when all have ended. */
void run_thread_ranks(int size, void (*body)(ThreadRank* rank));

/* Returns not 0 if the message of this thread's last error holds a text. */
int last_error_says(const char* part);

#endif

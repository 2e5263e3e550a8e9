/* The command line of the training samples. Each flag stores its value in a variable of the program. One thread. */
#ifndef SAMPLES_FLAGS_H
#define SAMPLES_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum flag_kind {
  kFlagText,   /* const char*: any text that is not empty; points into argv */
  kFlagChoice, /* int: the index of a word of `choices` */
  kFlagWhole,  /* int64_t, from low to high */
  kFlagNumber, /* double, from low to high */
  kFlagSwitch  /* bool: true if the flag is given; it has no value */
} flag_kind;

typedef struct flag {
  const char* name;
  flag_kind kind;
  void* out;
  const char* initial; /* NULL: without the flag, *out stays as it is */
  const char* meaning;
  int64_t low, high;   /* high INT64_MAX: no limit */
  const char* choices; /* separated by '|' */
} flag;

typedef struct flag_table {
  const flag* flags;
  size_t count;
} flag_table;

enum { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

/* Sets every initial value, then applies the arguments. Returns false if the program must end with *out_exit_status:
 * after --help, and after an invalid flag, for which it prints one line. */
bool flags_parse(const char* summary, const flag_table* tables, size_t table_count, int argc, char** argv,
                 int* out_exit_status);

#endif

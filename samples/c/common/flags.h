/* The command line of the samples: tables of flags, each with a text that becomes a member of an options structure, and
 * what the usual texts mean. One thread.
 */
#ifndef SAMPLES_FLAGS_H
#define SAMPLES_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct flag {
  const char* name;
  const char* value;   /* what stands for the value in the help; NULL: the flag takes none, and `set` is given "" */
  const char* initial; /* NULL: `set` is not called where the flag is not given */
  const char* expected;
  const char* meaning;
  bool (*set)(void* options, const char* text);
} flag;

/* Flags and the structure that their `set` is given. */
typedef struct flag_table {
  const flag* flags;
  int count;
  void* options;
} flag_table;

typedef struct command_line {
  const char* summary; /* what the program does, for the help */
  const flag_table* tables;
  int table_count;
} command_line;

enum { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

/* Sets every initial value, then what the arguments say; texts in the options point into argv. Answers false where the
 * program is to end with *out_exit_status: after --help, and after a flag that cannot be, which prints one line.
 */
bool flags_parse(const command_line* line, int argc, char** argv, int* out_exit_status);

/* Whole numbers from `low` to `high`, in digits alone. */
bool parse_whole(const char* text, uint64_t low, uint64_t high, uint64_t* out);
bool parse_count(const char* text, int64_t low, int64_t high, int64_t* out);

/* Sets *out where `text` is one of two words. */
bool parse_choice(const char* text, const char* no, const char* yes, bool* out);

/* Anything but nothing. */
bool parse_text(const char* text, const char** out);

#endif

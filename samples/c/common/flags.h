/* The command line of the samples: tables of flags. Each flag stores its text or the parsed value in a member of an
 * options structure; the usual parsers are below. One thread. */
#ifndef SAMPLES_FLAGS_H
#define SAMPLES_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct flag {
  const char* name;
  const char* value;   /* name of the value in the help; NULL: the flag has no value, and `set` is called with "" */
  const char* initial; /* NULL: `set` is not called if the flag is missing */
  const char* expected;
  const char* meaning;
  bool (*set)(void* options, const char* text);
} flag;

/* Flags, and the structure that their `set` functions receive. */
typedef struct flag_table {
  const flag* flags;
  int count;
  void* options;
} flag_table;

typedef struct command_line {
  const char* summary; /* purpose of the program, for the help */
  const flag_table* tables;
  int table_count;
} command_line;

enum { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

/* Sets every initial value, then applies the arguments; texts in the options point into argv. Returns false if the
 * program must end with *out_exit_status: after --help, and after an invalid flag, for which it prints one line. */
bool flags_parse(const command_line* line, int argc, char** argv, int* out_exit_status);

/* Parses a whole number from `low` to `high`; accepts only digits. */
bool parse_whole(const char* text, uint64_t low, uint64_t high, uint64_t* out);
bool parse_count(const char* text, int64_t low, int64_t high, int64_t* out);

/* Parses a finite decimal number from `low` to `high`. */
bool parse_number(const char* text, double low, double high, double* out);

/* Sets *out if `text` is one of two words. */
bool parse_choice(const char* text, const char* no, const char* yes, bool* out);

/* Accepts any text that is not empty. */
bool parse_text(const char* text, const char** out);

#endif

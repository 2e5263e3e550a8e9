#include "flags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

/* Accepts only digits: strtoull alone would accept signs and spaces. */
bool parse_whole(const char* text, uint64_t low, uint64_t high, uint64_t* out) {
  if (*text == '\0' || text[strspn(text, "0123456789")] != '\0') return false;
  errno = 0;
  const unsigned long long value = strtoull(text, NULL, 10);
  if (errno != 0 || value < low || value > high) return false;
  *out = value;
  return true;
}

bool parse_count(const char* text, int64_t low, int64_t high, int64_t* out) {
  uint64_t value;
  if (!parse_whole(text, (uint64_t)low, (uint64_t)high, &value)) return false;
  *out = (int64_t)value;
  return true;
}

/* strtod alone would accept spaces, hexadecimal numbers, infinities and NaN. */
bool parse_number(const char* text, double low, double high, double* out) {
  char* end;
  if (text[strspn(text, "0123456789.eE+-")] != '\0') return false;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*out) && *out >= low && *out <= high;
}

bool parse_choice(const char* text, const char* no, const char* yes, bool* out) {
  *out = strcmp(text, yes) == 0;
  return *out || strcmp(text, no) == 0;
}

bool parse_text(const char* text, const char** out) {
  *out = text;
  return *text != '\0';
}

static void print_flag(const flag* f) {
  char usage[32];
  snprintf(usage, sizeof usage, "%s%s%s", f->name, f->value == NULL ? "" : " ", f->value == NULL ? "" : f->value);
  printf("  %-14s  %s\n                  %s%s%s\n", usage, f->meaning, f->expected,
         f->initial == NULL ? "" : "; default ", f->initial == NULL ? "" : f->initial);
}

static void print_help(const command_line* line, const char* program) {
  printf("usage: %s [FLAG VALUE]...\n\n%s\n\n", program, line->summary);
  for (int t = 0; t < line->table_count; ++t) {
    for (int i = 0; i < line->tables[t].count; ++i) print_flag(&line->tables[t].flags[i]);
  }
  printf("  %-14s  print this and end\n", "--help");
}

static void set_initial_values(const flag_table* table) {
  for (int i = 0; i < table->count; ++i) {
    const flag* f = &table->flags[i];
    if (f->initial != NULL) f->set(table->options, f->initial);
  }
}

/* Finds the flag for an argument such as "--name" or "--name=value". */
static const flag* find_flag(const command_line* line, const char* argument, void** out_options,
                             const char** out_value) {
  const size_t length = strcspn(argument, "=");
  for (int t = 0; t < line->table_count; ++t) {
    for (int i = 0; i < line->tables[t].count; ++i) {
      const flag* f = &line->tables[t].flags[i];
      if (strlen(f->name) != length || strncmp(f->name, argument, length) != 0) continue;
      *out_options = line->tables[t].options;
      *out_value = argument[length] == '=' ? argument + length + 1 : NULL;
      return f;
    }
  }
  return NULL;
}

/* Applies the flag at argv[*position] and moves *position to its last argument. */
static bool take_flag(const command_line* line, int argc, char** argv, int* position) {
  const char* value = NULL;
  void* options = NULL;
  const flag* f = find_flag(line, argv[*position], &options, &value);
  if (f == NULL) {
    print_error("%s: no such flag; --help tells all", argv[*position]);
    return false;
  }
  if (f->value == NULL && value == NULL) return f->set(options, "");
  if (value == NULL && *position + 1 == argc) {
    print_error("%s: has no value; expected %s", f->name, f->expected);
    return false;
  }
  if (value == NULL) value = argv[++*position];
  if (f->set(options, value)) return true;
  print_error("%s '%s': expected %s", f->name, value, f->expected);
  return false;
}

bool flags_parse(const command_line* line, int argc, char** argv, int* out_exit_status) {
  for (int t = 0; t < line->table_count; ++t) set_initial_values(&line->tables[t]);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help(line, argv[0]);
      *out_exit_status = kExitOk;
      return false;
    }
    if (!take_flag(line, argc, argv, &i)) {
      *out_exit_status = kExitUsage;
      return false;
    }
  }
  return true;
}

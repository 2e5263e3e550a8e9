#include "flags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

enum { kExpectedCapacity = 128 };

static bool parse_choice(const flag* f, const char* text) {
  const size_t length = strlen(text);
  const char* word = f->choices;
  for (int i = 0; word != NULL; ++i) {
    if (strcspn(word, "|") == length && strncmp(word, text, length) == 0) {
      *(int*)f->out = i;
      return true;
    }
    word = strchr(word, '|');
    if (word != NULL) ++word;
  }
  return false;
}

/* Accepts only digits: strtoll alone would accept signs and spaces. */
static bool parse_whole(const flag* f, const char* text) {
  if (*text == '\0' || text[strspn(text, "0123456789")] != '\0') return false;
  errno = 0;
  const long long value = strtoll(text, NULL, 10);
  if (errno != 0 || value < f->low || value > f->high) return false;
  *(int64_t*)f->out = value;
  return true;
}

/* strtod alone would accept spaces, hexadecimal numbers, infinities and NaN. */
static bool parse_number(const flag* f, const char* text) {
  char* end;
  if (text[strspn(text, "0123456789.eE+-")] != '\0') return false;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value) || value < (double)f->low) return false;
  if (f->high != INT64_MAX && value > (double)f->high) return false;
  *(double*)f->out = value;
  return true;
}

static bool set_flag(const flag* f, const char* text) {
  switch (f->kind) {
    case kFlagText:
      *(const char**)f->out = text;
      return *text != '\0';
    case kFlagChoice:
      return parse_choice(f, text);
    case kFlagWhole:
      return parse_whole(f, text);
    case kFlagNumber:
      return parse_number(f, text);
    case kFlagSwitch:
      *(bool*)f->out = true;
      return *text == '\0';
  }
  return false;
}

static const char* describe_expected(const flag* f, char* out) {
  const char* kind = f->kind == kFlagWhole ? "a whole number" : "a number";
  if (f->kind == kFlagText) return "a text";
  if (f->kind == kFlagSwitch) return "no value";
  if (f->kind == kFlagChoice) {
    snprintf(out, kExpectedCapacity, "one of %s", f->choices);
  } else if (f->high == INT64_MAX) {
    snprintf(out, kExpectedCapacity, "%s of at least %lld", kind, (long long)f->low);
  } else {
    snprintf(out, kExpectedCapacity, "%s from %lld to %lld", kind, (long long)f->low, (long long)f->high);
  }
  return out;
}

static void print_help(const char* summary, const flag_table* table, const flag_table* end, const char* program) {
  char expected[kExpectedCapacity];
  printf("usage: %s [FLAG VALUE]...\n\n%s\n\n", program, summary);
  for (; table != end; ++table) {
    for (const flag* f = table->flags; f != table->flags + table->count; ++f) {
      printf("  %-18s  %s\n                      %s%s%s\n", f->name, f->meaning, describe_expected(f, expected),
             f->initial == NULL ? "" : "; default ", f->initial == NULL ? "" : f->initial);
    }
  }
  printf("  %-18s  print this and end\n", "--help");
}

/* Finds the flag of an argument such as "--name" or "--name=value". */
static const flag* find_flag(const flag_table* table, const flag_table* end, const char* argument) {
  const size_t length = strcspn(argument, "=");
  for (; table != end; ++table) {
    for (const flag* f = table->flags; f != table->flags + table->count; ++f) {
      if (strlen(f->name) == length && strncmp(f->name, argument, length) == 0) return f;
    }
  }
  return NULL;
}

/* Applies the flag at argv[*position] and moves *position to its last argument. */
static bool apply_flag(const flag* f, int argc, char** argv, int* position) {
  char expected[kExpectedCapacity];
  const char* value = strchr(argv[*position], '=');
  if (value != NULL) {
    ++value;
  } else if (f->kind == kFlagSwitch) {
    value = "";
  } else if (*position + 1 < argc) {
    value = argv[++*position];
  } else {
    print_error("%s: has no value; expected %s", f->name, describe_expected(f, expected));
    return false;
  }
  if (set_flag(f, value)) return true;
  print_error("%s '%s': expected %s", f->name, value, describe_expected(f, expected));
  return false;
}

static void set_initial_values(const flag_table* table) {
  for (const flag* f = table->flags; f != table->flags + table->count; ++f) {
    if (f->initial != NULL) set_flag(f, f->initial);
  }
}

bool flags_parse(const char* summary, const flag_table* tables, size_t table_count, int argc, char** argv,
                 int* out_exit_status) {
  const flag_table* end = tables + table_count;
  for (const flag_table* table = tables; table != end; ++table) set_initial_values(table);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help(summary, tables, end, argv[0]);
      *out_exit_status = kExitOk;
      return false;
    }
    const flag* f = find_flag(tables, end, argv[i]);
    if (f == NULL) print_error("%s: no such flag; --help lists all", argv[i]);
    if (f == NULL || !apply_flag(f, argc, argv, &i)) {
      *out_exit_status = kExitUsage;
      return false;
    }
  }
  return true;
}

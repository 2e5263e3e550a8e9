#include "short_options.h"

static bool set_steps(void* options, const char* text) {
  return parse_count(text, 1, 1000000000, &((short_options*)options)->steps);
}

static const flag kFlags[] = {
    {"--steps", "N", "400", "a whole number from 1 to 1000000000", "number of steps to train", set_steps},
};

bool short_options_parse(int argc, char** argv, const char* summary, short_options* out, int* out_exit_status) {
  const flag_table tables[] = {{kFlags, sizeof kFlags / sizeof kFlags[0], out}, run_options_flags(&out->run)};
  const command_line line = {summary, tables, sizeof tables / sizeof tables[0]};
  if (!flags_parse(&line, argc, argv, out_exit_status)) return false;
  *out_exit_status = kExitUsage;
  return run_options_are_consistent(&out->run);
}

#include "run_options.h"

#include "failure.h"

static bool set_log(void* options, const char* text) { return parse_text(text, &((run_options*)options)->log); }

static bool set_checkpoint(void* options, const char* text) {
  return parse_text(text, &((run_options*)options)->checkpoint);
}

static bool set_checkpoint_every(void* options, const char* text) {
  return parse_count(text, 1, 1000000000, &((run_options*)options)->checkpoint_every);
}

static bool set_resume(void* options, const char* text) {
  ((run_options*)options)->resume = true;
  return *text == '\0';
}

static const flag kFlags[] = {
    {"--log", "FILE", NULL, "a file name", "write one JSON object per step to this file", set_log},
    {"--checkpoint", "DIR", NULL, "a directory", "save checkpoints there, the last one when the run ends",
     set_checkpoint},
    {"--checkpoint-every", "N", "500", "a whole number from 1 to 1000000000", "steps from one checkpoint to the next",
     set_checkpoint_every},
    {"--resume", NULL, NULL, "no value", "continue from the newest checkpoint, if there is one", set_resume},
};

flag_table run_options_flags(run_options* out) {
  *out = (run_options){.log = NULL};
  return (flag_table){kFlags, sizeof kFlags / sizeof kFlags[0], out};
}

bool run_options_are_consistent(const run_options* options) {
  if (!options->resume || options->checkpoint != NULL) return true;
  print_error("--resume: needs --checkpoint, the directory to continue from");
  return false;
}

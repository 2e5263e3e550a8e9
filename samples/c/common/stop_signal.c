#define _POSIX_C_SOURCE 200809L
#include "stop_signal.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t received_signal = 0;

static void set_handlers(void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART; /* a signal does not interrupt a write of the log */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static void note_signal(int number) {
  received_signal = number;
  set_handlers(SIG_DFL);
}

void stop_signal_watch(void) { set_handlers(note_signal); }

int stop_signal_received(void) { return received_signal; }

const char* stop_signal_name(int number) { return number == SIGINT ? "SIGINT" : "SIGTERM"; }

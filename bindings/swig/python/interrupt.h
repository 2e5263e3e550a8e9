// Ctrl-C during a call of the library. Python's own handler of SIGINT only takes note of the signal; what Python does
// about it, it does on the main thread, after the call. The handler here sets the number that calls read, too, so that
// the main thread's call lets Python do it in between.
#ifndef HALFTONE_BINDINGS_PYTHON_INTERRUPT_H
#define HALFTONE_BINDINGS_PYTHON_INTERRUPT_H

#include <signal.h>

#include "callables.h"

namespace ht {

inline volatile int32_t was_interrupted = 0;
inline struct sigaction python_handler;
inline unsigned long main_thread = 0;

inline void on_interrupt(int number, siginfo_t* info, void* context) {
  was_interrupted = 1;
  if ((python_handler.sa_flags & SA_SIGINFO) != 0) return python_handler.sa_sigaction(number, info, context);
  python_handler.sa_handler(number);
}

// Runs the handlers that are due. One that raises ends the call with its exception.
inline htone_status run_signal_handlers(void*) {
  if (PyThread_get_thread_ident() != main_thread || !Py_IsInitialized()) return HTONE_OK;
  const InterpreterLock lock;
  was_interrupted = 0;
  return PyErr_CheckSignals() == 0 ? HTONE_OK : store_exception(false);
}

// Returns false where SIGINT is ignored or ends the process: then Python does not handle it.
inline bool watch_interrupts(unsigned long main) {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return false;
  const bool has_information = (current.sa_flags & SA_SIGINFO) != 0;
  if (has_information && current.sa_sigaction == on_interrupt) return true;
  if (!has_information && (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN)) return false;
  main_thread = main;
  check(htone_interrupt_set_callback(&was_interrupted, run_signal_handlers, nullptr, nullptr));
  python_handler = current;
  struct sigaction own = current;
  own.sa_flags |= SA_SIGINFO;
  own.sa_sigaction = on_interrupt;
  return sigaction(SIGINT, &own, nullptr) == 0;
}

}  // namespace ht

#endif

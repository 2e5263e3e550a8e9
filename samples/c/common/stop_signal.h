/* Ctrl-C and SIGTERM as a request to stop. The first signal is only recorded, so that the current step ends and
 * everything is released. A second signal ends the program at once. Query it from one thread. */
#ifndef SAMPLES_STOP_SIGNAL_H
#define SAMPLES_STOP_SIGNAL_H

/* Starts recording signals. */
void stop_signal_watch(void);

/* Returns SIGINT or SIGTERM if one was received, else 0. */
int stop_signal_received(void);

/* Returns the name of one of these two signals. */
const char* stop_signal_name(int number);

#endif

/* Ctrl-C and SIGTERM as a wish to stop: the first is noted, so that the step at hand ends and all is released; a second
 * ends the program at once. One thread asks.
 */
#ifndef SAMPLES_STOP_SIGNAL_H
#define SAMPLES_STOP_SIGNAL_H

/* Begins to note signals. */
void stop_signal_watch(void);

/* Answers SIGINT or SIGTERM where one came, else 0. */
int stop_signal_received(void);

/* Answers a signal's name, of those two. */
const char* stop_signal_name(int number);

#endif

/* Time for rates and estimates. Any thread. */
#ifndef SAMPLES_STOPWATCH_H
#define SAMPLES_STOPWATCH_H

/* Returns the seconds since a fixed moment; never decreases. */
double seconds_now(void);

#endif

/* Time for rates and estimates. Any thread. */
#ifndef SAMPLES_STOPWATCH_H
#define SAMPLES_STOPWATCH_H

/* Answers seconds since some fixed moment; never goes backwards. */
double seconds_now(void);

#endif

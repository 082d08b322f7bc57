/* job.h: the few services that an application needs from its job, independent of the library. job_tern.c and job_mpi.c
 * implement them. */
#ifndef APPS_JOB_H
#define APPS_JOB_H

extern int job_rank, job_size;

void   job_begin(void);
void   job_end(void);
void   job_barrier(void);
double job_max(double value);                                      /* returns the maximum, ignoring NaNs */
void   job_fail(const char *text) __attribute__((noreturn, cold)); /* end the job and print text */

#endif

/* job.h: the little that an application asks of the job it runs in, whatever library made the job: job_tern.c and
 * job_mpi.c are the two answers. */
#ifndef APPS_JOB_H
#define APPS_JOB_H

extern int job_rank, job_size;

void   job_begin(void);
void   job_end(void);
void   job_barrier(void);
double job_max(double value);                                      /* the largest of all ranks; a NaN loses */
void   job_fail(const char *text) __attribute__((noreturn, cold)); /* end the job, and say why */

#endif

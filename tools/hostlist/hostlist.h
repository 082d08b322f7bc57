/* hostlist.h: lists of hosts, as users and schedulers write them. ternrun and tern-info share this.
 *
 *     hostlist.c   a list such as a:4,b:4 or @FILE      slurm.c       Slurm's lists of nodes
 *     hostfile.c   a file with hosts                    scheduler.c   hosts from Slurm or PBS
 */
#ifndef TERN_HOSTLIST_H
#define TERN_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_NAME_BYTES 512

struct host_entry {
    char *name;
    int   ranks; /* 0: not given */
};

/* A list of hosts. The caller initializes it with { 0 }. If a function that reads into a list fails, the list may
 * contain some of the hosts. */
struct host_list {
    struct host_entry *host; /* [hosts] */
    int                hosts;
};

/* The buffer for the reason why a text is refused, for a message. */
struct host_refusal {
    char  *why;
    size_t size;
};

/* Write the reason; returns false. */
bool host_refuse(const struct host_refusal *refusal, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read a list such as a:4,b or @FILE. Returns false on error. */
bool host_list_read(const struct host_refusal *refusal, const char *text, struct host_list *list);
void host_list_free(struct host_list *list);

/* Split HOST or HOST:RANKS, the len bytes of text. ranks is 0 if there is no number. Returns false on error. */
bool host_list_word(const struct host_refusal *refusal, const char *text, size_t len, char *name, int *ranks);
/* Parse the number of ranks of the host. Returns false on error. */
bool host_list_ranks(const struct host_refusal *refusal, const char *name, const char *text, size_t len, int *ranks);
/* Return the host of that name; NULL if there is none. */
struct host_entry *host_list_find(const struct host_list *list, const char *name);
/* Add a host. ranks is 0 if its number of ranks is not given. Returns false on error. */
bool host_list_add(const struct host_refusal *refusal, struct host_list *list, const char *name, int ranks);

/* Add the hosts of a file. If each_line is set, each line without a number stands for one rank. Returns false on
 * error. */
bool host_list_read_file(const struct host_refusal *refusal, const char *path, bool each_line, struct host_list *list);

/* Add the nodes of a list such as n[01-03,07],login1, with the ranks of tasks such as 4(x3),2; tasks NULL: one rank
 * each. Returns false on error. */
bool host_list_read_slurm(const struct host_refusal *refusal, const char *nodes, const char *tasks,
                          struct host_list *list);

/* The description of a scheduler's job in the environment. */
struct host_allocation {
    const char *scheduler, *job; /* "Slurm" and the job's number; NULL: unknown */
    const char *source;          /* the variable that names the hosts */
    const char *node;            /* the scheduler's name of this machine; NULL: unknown */
    int64_t     ranks;           /* the number of ranks that the job asked for; 0: unknown */
};

/* Read the hosts of the scheduler's job in which this process runs. Outside of such a job, the list stays empty.
 * Returns false on error. */
bool        host_scheduler_read(const struct host_refusal *refusal, struct host_list *list,
                                struct host_allocation *allocation);
/* Return a variable's value; NULL if it is not set or empty. */
const char *host_setting(const char *name);
const char *host_first_of(const char *value, const char *otherwise); /* value, unless it is NULL */
/* Return whether a name of the scheduler, or of a user if allocation is empty, is that of this machine. */
bool        host_is_this_machine(const struct host_allocation *allocation, const char *name);

#endif

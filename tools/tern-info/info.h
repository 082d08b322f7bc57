/* info.h: the declarations that the files of tern-info share: the writer, which prints the same facts as text or as
 * JSON, and the sections. */
#ifndef TERN_INFO_H
#define TERN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One fact of a list item, for JSON. */
struct info_field {
    const char *key, *text; /* text NULL: JSON null */
};

/* writer.c. A section is an object of facts or a list of items. Labels are for people, keys are for programs. */
void info_begin(bool json);
void info_end(void);
bool info_is_json(void);
void info_section(const char *key, const char *title);
void info_section_end(void);
void info_text(const char *key, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
void info_number(const char *key, const char *label, uint64_t value, const char *unit);
void info_bytes(const char *key, const char *label, uint64_t value);
void info_bool(const char *key, const char *label, bool value);
/* Print a limit that is not set: null in JSON. */
void info_no_limit(const char *key, const char *label);
void info_list(const char *key, const char *title);
void info_more(const char *text); /* for people only: a remark at the end of a section */
void info_item(const char *for_people, const struct info_field *fields, size_t count);
void info_list_end(void);

/* The result of the check in cma.c. */
struct info_cma {
    bool works; /* the kernel permits CMA between processes of this user, such as ranks */
    bool used;  /* CMA works, and no option forbids it */
    char why[320];
};
struct info_cma info_cma_probe(void);

/* kernel.c: the facilities of the kernel for shared memory and for waiting, each determined by a trial. */
struct info_kernel {
    int  memfd, futex, pidfd;            /* 0, or the errno value with which the trial failed */
    bool barrier_here, barrier_everyone; /* membarrier works within a process, and between processes */
};
struct info_kernel info_kernel_probe(void);

/* task.c: a task, which is a function or a command that runs in a process of its own for a bounded time. */
struct info_task {
    void (*run)(const void *arg); /* prints its result to standard output; not used if argv is not NULL */
    const void  *arg;
    char *const *argv;       /* the command */
    char         text[1024]; /* result: what was printed, on standard error too if it is a command */
    size_t       len;
    int          status;  /* result: exit status; 128 + N if signal N ended the process */
    bool         is_late; /* result: the process did not end in time and was killed */
    bool         is_over;
    pid_t        pid;
    int          fd;
};

/* A task prints this, the command and the reason if its command cannot be started. */
#define INFO_CANNOT_START "cannot start "

/* Run all tasks at the same time, and end those that are not finished after this many seconds, with all their
 * children. If watch_input is true, this process ends as soon as its standard input is closed. */
void info_tasks_run(struct info_task *tasks, size_t count, double seconds, bool watch_input);

/* Copy the first line of text that is not empty, without control characters, because the text may be anything. */
void info_first_line(char *line, size_t size, const char *text);
/* Copy the last line of text that is not empty, also without control characters. */
void info_last_line(char *line, size_t size, const char *text);

/* limits.c. A limit that is not set is INFO_UNLIMITED. */
#define INFO_UNLIMITED UINT64_MAX
uint64_t info_limit(int resource, bool hard);
/* Return the number of processors whose time the control groups permit; 0: they do not limit the time. */
double   info_cpu_quota(void);
/* Return the limit of the memory, or of the processes, in the control group of this process that has the least left,
 * and store how much the group uses in *used. */
uint64_t info_group_memory(uint64_t *used);
uint64_t info_group_processes(uint64_t *used);
/* Return the number of processes and threads of this user. */
uint64_t info_user_processes(void);
/* Store the size and the free space of /dev/shm, in bytes. Returns false if /dev/shm does not exist. */
bool     info_shm_space(uint64_t *size, uint64_t *available);

/* launchers.c: write the version of libpmix.so.2, or the reason why it cannot be loaded. Returns whether it can be
 * loaded. */
bool info_pmix(char *text, size_t size);

/* networks.c: return the network that a job on several nodes would use, or NULL; info_network_problem returns the
 * reason why there is none. */
struct tern_fabric_row;
const struct tern_fabric_row *info_network_chosen(void);
const char                   *info_network_problem(void);

/* Print the sections. */
void        info_launchers(void);
void        info_promises(const struct info_cma *cma, const struct info_kernel *kernel);
void        info_limits(void);
void        info_links(const struct info_cma *cma);
void        info_cma(const struct info_cma *cma);
void        info_progress(const struct info_cma *cma);
void        info_networks(bool all);
void        info_huge(void);
void        info_memory(void);
void        info_kernel(const struct info_kernel *kernel);
void        info_machine(void);
void        info_options(bool all);
void        info_options_load(char *const *environment);
const char *info_options_problem(size_t option); /* returns why its value was refused, or NULL */
void        info_options_markdown(void);

/* Read the first line of a small file, without its newline. Returns false if the file cannot be read. */
bool info_read_line(const char *path, char *line, size_t size);

#endif

/* perf.h: what the files of tern-perf share: the options, the running job, a test, a kernel, and the figures.
 *
 * A test is a row of the table in tests.c. For each size it hands a few kernels, loops that repeat one operation, to
 * the engine (engine.c). The engine runs them in alternating slices on the ranks that they need and keeps the time per
 * iteration of each slice; the test turns those into figures (report.c). A new capability adds a file with its kernels
 * and a row to the table.
 */
#ifndef TERN_PERF_H
#define TERN_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <tern.h>

#include "../../bench/measure.h"

#define PERF_MAX_KERNELS 8
#define PERF_MAX_REPEAT 1000
#define PERF_MAX_WINDOWS 16
#define PERF_MAX_WINDOW 65536
#define PERF_LINE 64u        /* bytes of a cache line */
#define PERF_WORD_SPAN 1024u /* loops of words and lines move through this many bytes of the target */

enum perf_format { PERF_TEXT, PERF_CSV, PERF_JSON };
enum perf_memory { PERF_HOST, PERF_HUGE, PERF_REGISTERED };

/* What the command line says. */
struct perf_options {
    uint64_t         sizes[MEASURE_MAX_SIZES];
    size_t           size_count; /* 0: the test's own */
    uint64_t         windows[PERF_MAX_WINDOWS];
    size_t           window_count;              /* 0: the test's own */
    uint64_t         iters;                     /* iterations of each slice; 0: as many as the time gives */
    double           time;                      /* seconds for all slices of one kernel; 0: the test's own */
    size_t           repeat;                    /* slices of each kernel; 0: the test's own */
    size_t           rounds;                    /* compare: runs of each program; 0 until main chooses the default */
    uint64_t         ranks[PERF_MAX_WINDOWS];   /* init: ranks of the jobs that it starts */
    size_t           ranks_count;               /* 0: its own choice */
    uint64_t         threads[PERF_MAX_WINDOWS]; /* register: that do it at a time */
    size_t           threads_count;             /* 0: its own choice */
    uint64_t         messages;                  /* immediate: those that rank 0 sends in one run; 0: the test's own */
    uint64_t         element;                   /* strided_bw, indexed_bw, vector_bw: bytes of a piece */
    double           limit;                     /* compare, init: seconds that one run may take */
    enum perf_format format;
    enum perf_memory memory;
    bool             vs_limit, quiet;
    bool             generate; /* am_lat: payloads are made while they are sent */
    bool             net;      /* ranks reach each other over the network only */
    const char      *provider; /* of libfabric; NULL: Tern's choice */
    const char      *plot;
    const char      *peers; /* compare: where the peer programs are; NULL: beside this program */
    const char      *build; /* compare: the directory of another build of Tern; NULL: compare with the peers */
    bool             self;  /* compare: run the other build beside itself */
    char           **words; /* what follows the test's name */
    size_t           word_count;
};

struct perf;

/* One size of one test. */
struct perf_case {
    struct perf *p;
    uint64_t     size;
    uint64_t     window; /* operations per iteration */
    uint64_t     stride; /* bytes between the messages of a window */
    int          target; /* the rank that this rank's kernels talk to */
    unsigned     turn;   /* which of the two contents a ping-pong sends next */
};

/* Which ranks run a kernel. The others wait, asleep if it takes long. */
enum perf_who { PERF_FIRST, PERF_PAIR, PERF_ALL };

struct perf_kernel {
    enum perf_who who;
    void (*run)(struct perf_case *c, uint64_t iters);
};

/* One test: a row of the table in tests.c. */
struct perf_test {
    const char *name, *what;
    const char *metric, *unit; /* the figure that matters most */
    const char *limit;         /* what --vs-limit compares with; NULL: nothing */
    const char *sizes;         /* default; NULL: the test has no sizes */
    const char *windows;       /* default operations per iteration; NULL: one at a time */
    size_t      repeat;        /* default slices; 0: as most tests */
    int         min_ranks;
    bool        pingpong;                         /* it needs the memory for one */
    bool        empty;                            /* 0 is a size for it */
    bool        net;                              /* as if --net were given */
    uint64_t (*bytes)(uint64_t size);             /* of memory that a size takes; NULL: as many as it says */
    void (*before)(int ranks);                    /* before tern_init; NULL: nothing */
    void (*run)(struct perf_case *c);             /* inside a job, once per size */
    int (*command)(const struct perf_options *o); /* or: started by the user, without a job */
};

/* What a rank tells the others about its memory, for the raw system calls. */
struct perf_place {
    int64_t  pid;
    uint64_t address;
};

/* A job that measures. */
struct perf {
    const struct perf_options *opt;
    const struct perf_test    *test;
    int                        rank, ranks, peer; /* peer: the other one of ranks 0 and 1; 0 in a job of one */
    tern_ctx                  *ctx;
    tern_region               *region; /* what is measured: area bytes for streams, ping for a ping-pong */
    unsigned char             *mine;   /* this rank's part */
    unsigned char             *theirs; /* the peer's part by plain pointer; NULL where there is none */
    unsigned char             *local;  /* private: area, then three of ping; MEASURE_SKEW off a page boundary */
    unsigned char             *local_map;
    size_t                     local_bytes;
    uint64_t                   area, ping;
    tern_region               *lines; /* one page of shared memory per rank, for the limits; without a network only */
    unsigned char             *my_line, *their_line;
    unsigned                   line_turn;
    bool                       network; /* the peer's memory cannot be reached by a pointer, and is no process here */
    bool                       cores;   /* there is one for each rank */
    int                        tcp;     /* connection of ranks 0 and 1, where they have a network only; -1: none */
    bool                       sizeless_done; /* limits that have no size are measured once */
    struct perf_place          peer_place;
    const char                *link;  /* how the peer's part is reached */
    unsigned                   spins; /* looks at memory before a wait gives way */
    unsigned                   gave_way;
    tern_event                *events;               /* [largest window] */
    double                    *ns[PERF_MAX_KERNELS]; /* [repeat] time per iteration of each slice; on rank 0 */
    size_t                     repeat;
    unsigned char             *gather; /* room for one small thing of every rank */
};

/* engine.c: the job, and slices. */
void     perf_open(struct perf *p, const struct perf_options *opt, const struct perf_test *test);
void     perf_close(struct perf *p);
void     perf_run(struct perf *p);
void     perf_measure(struct perf_case *c, const struct perf_kernel *kernels, size_t count);
void     perf_fail(tern_status status, const char *what) __attribute__((cold, noinline, noreturn));
void     perf_give_way(struct perf *p) __attribute__((cold, noinline));
uint64_t perf_default_sizes(const struct perf_options *opt, const struct perf_test *test, uint64_t *sizes, size_t *n);

/* place.c: the memory that a test works on, and the cores: perf_place_check says whether each rank has one. */
void perf_place_open(struct perf *p, uint64_t max_size, uint64_t max_window);
void perf_place_close(struct perf *p);
bool perf_place_check(struct perf *p);

/* tests.c */
extern const struct perf_test perf_tests[];
extern const size_t           perf_test_count;
const struct perf_test       *perf_test_find(const char *name);

/* The tests themselves. */
void perf_put_lat(struct perf_case *c);
void perf_get_lat(struct perf_case *c);
void perf_put_bw(struct perf_case *c);
void perf_get_bw(struct perf_case *c);
void perf_put_rate(struct perf_case *c);
void perf_get_rate(struct perf_case *c);
void perf_barrier(struct perf_case *c);
void perf_share(struct perf_case *c);
void perf_window(struct perf_case *c);
void perf_order(struct perf_case *c);
void perf_idle(struct perf_case *c);
void perf_strided_bw(struct perf_case *c);
void perf_indexed_bw(struct perf_case *c);
void perf_vector_bw(struct perf_case *c);
void perf_transpose(struct perf_case *c);
void perf_column_bw(struct perf_case *c);
void perf_limits(struct perf_case *c);
void perf_demo(struct perf_case *c);
void perf_am_lat(struct perf_case *c);
void perf_am_rate(struct perf_case *c);
void perf_am_bw(struct perf_case *c);
void perf_notify_lat(struct perf_case *c);
void perf_notify_rate(struct perf_case *c);
void perf_notify_match(struct perf_case *c);
void perf_notify_cost(struct perf_case *c);
void perf_overlap(struct perf_case *c);
void perf_msg_lat(struct perf_case *c);
void perf_msg_bw(struct perf_case *c);
void perf_msg_bw_one(struct perf_case *c);
void perf_msg_rate(struct perf_case *c);
void perf_msg_depth(struct perf_case *c);
void perf_msg_bibw(struct perf_case *c);
void perf_slow_sink(struct perf_case *c);
void perf_fadd_lat(struct perf_case *c);
void perf_fadd_rate(struct perf_case *c);
void perf_hot_spot(struct perf_case *c);
void perf_acc_bw(struct perf_case *c);
void perf_acc_shapes(struct perf_case *c);
void perf_lock_rate(struct perf_case *c);
void perf_trigger_lat(struct perf_case *c);
void perf_trigger_chain(struct perf_case *c);
void perf_immediate(struct perf_case *c);
void perf_immediate_before(int ranks);
int  perf_init(const struct perf_options *o);
int  perf_init_rank(const char *mode);
int  perf_compare(const struct perf_options *o);
int  perf_register(const struct perf_options *o);
int  perf_crossover(const struct perf_options *o);
int  perf_payload(const struct perf_options *o);
int  perf_protocols(const struct perf_options *o);

/* Memory that sizes of these tests take: shapes.c; matrix.c, of a matrix and of one that is twice as wide. */
uint64_t perf_shape_bytes(uint64_t size);
uint64_t perf_matrix_bytes(uint64_t size);
uint64_t perf_section_bytes(uint64_t size);
uint64_t perf_chain_bytes(uint64_t size); /* trigger.c */

/* Kernels that more than one test uses. limits.c: what the machine can do without Tern. */
void               perf_line_pingpong(struct perf_case *c, uint64_t iters);
void               perf_plain_store(struct perf_case *c, uint64_t iters);
void               perf_plain_load(struct perf_case *c, uint64_t iters);
void               perf_copy_to(struct perf_case *c, uint64_t iters);
void               perf_copy_from(struct perf_case *c, uint64_t iters);
/* tcp.c: the same over TCP, for ranks that have a network only. */
void               perf_tcp_open(struct perf *p);
void               perf_tcp_close(struct perf *p);
void               perf_tcp_pingpong(struct perf_case *c, uint64_t iters);
void               perf_tcp_to(struct perf_case *c, uint64_t iters);
void               perf_tcp_from(struct perf_case *c, uint64_t iters);
/* limits.c: the limit of this job: through memory, or over TCP. */
struct perf_kernel perf_limit_trip(const struct perf *p);
struct perf_kernel perf_limit_to(const struct perf *p);
struct perf_kernel perf_limit_from(const struct perf *p);
const char        *perf_limit_trip_name(const struct perf *p); /* of half of its time */
/* lat.c and bw.c */
void               perf_put_blocking(struct perf_case *c, uint64_t iters);
void               perf_get_blocking(struct perf_case *c, uint64_t iters);
void               perf_put_pingpong(struct perf_case *c, uint64_t iters);
void               perf_pingpong_prepare(struct perf_case *c);
void               perf_stream_put(struct perf_case *c, uint64_t iters);
void               perf_stream_get(struct perf_case *c, uint64_t iters);
/* amlat.c: whether a medium message of this size can be sent; a size above the maximum becomes the maximum, once. */
bool               perf_am_fit(struct perf_case *c);
/* Collective: a kernel of round trips of short active messages, for a case of size 0. */
struct perf_kernel perf_am_trip(struct perf_case *c);
/* Make progress until handlers have raised *count to want. */
void               perf_am_await(struct perf *p, const volatile uint64_t *count, uint64_t want);

/* report.c: figures. The perf_figure_ functions make one of the kernels' slices, with its spread, on rank 0;
 * perf_figure_values makes one of any p->repeat values. */
void perf_figure_values(const struct perf_case *c, double *values, const char *metric, const char *unit);
void perf_figure_time(const struct perf_case *c, size_t kernel, double divide, const char *metric);
void perf_figure_bandwidth(const struct perf_case *c, size_t kernel, double bytes, const char *metric);
void perf_figure_rate(const struct perf_case *c, size_t kernel, double operations, const char *metric);
void perf_figure_difference(const struct perf_case *c, size_t kernel, size_t less, const char *metric);
/* top's time over bottom's, slice by slice; scaled by factor. */
void perf_figure_ratio(const struct perf_case *c, size_t top, size_t bottom, double factor, const char *metric);

/* One line of CSV. value with its quartiles and minimum where spread is set. */
struct perf_figure {
    const char            *test, *link;
    int                    ranks;
    uint64_t               size;
    char                   metric[48];
    const char            *unit;
    bool                   spread;
    struct measure_summary value;
};
void                      perf_report_begin(enum perf_format format);
void                      perf_report_add(const struct perf_figure *figure);
void                      perf_report_end(const char *title);
const struct perf_figure *perf_report_all(size_t *count);

/* plot.c: returns false, and says why, when the plot cannot be made. */
bool perf_plot_possible(const char *file);
bool perf_plot(const char *file, const char *title);

/* progress.c: a bar on the terminal, if standard error is one. done is 0 to 1. */
void perf_progress_begin(const char *what, bool show);
void perf_progress_part(double from, double to); /* what 0 and 1 mean from now on */
void perf_progress(double done);
void perf_progress_end(void);

/* child.c: another program, with a time limit, in a process group of its own that never outlives it. */
struct perf_child {
    pid_t   pid;
    int     out, err; /* pipes; -1: closed */
    int64_t deadline;
    int64_t started, finished; /* when it was forked and when it was seen to have ended */
    char   *text[2];           /* what it wrote to standard output and error, cut at 1 MiB, ending in 0 */
    size_t  length[2];
    int     status; /* as waitpid gives it */
    bool    late;   /* it was ended because its time was over */
};
bool perf_child_start(struct perf_child *child, char *const argv[], char *const extra_env[], double seconds);
bool perf_child_finish(struct perf_child *child); /* true: it exited with status 0 */
void perf_child_kill(struct perf_child *child);
void perf_child_free(struct perf_child *child);
void perf_child_guard(void);   /* from now on signals that end this program end its children first */
bool perf_child_stopped(void); /* whether one came: start nothing more, tidy up, */
void perf_child_obey(void);    /* and end of it; returns if none came */
bool perf_find_program(const char *name, char *path, size_t size);
bool perf_find_sibling(const char *dir, const char *name, char *path, size_t size);

/* End the job unless a call succeeded. Costs nothing where the compiler sees that it did. */
static inline void perf_must(tern_status status, const char *what)
{
    if (TERN_UNLIKELY(status < 0))
        perf_fail(status, what);
}

/* Wait until *byte is value, polling; gives way to others when it takes long. */
static inline void perf_await(struct perf *p, const volatile unsigned char *byte, unsigned char value)
{
    unsigned spins = 0;

    while (*byte != value) {
        if (TERN_UNLIKELY(++spins > p->spins))
            perf_give_way(p);
    }
    /* acquire: the rest of what the other rank wrote is read after the byte. Pairs with the release in tern_put. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Keep the compiler from moving, merging or dropping the memory accesses around this point. */
static inline void perf_keep(void)
{
    __asm__ volatile("" ::: "memory");
}

/* A value is wanted: the instruction that makes it may not be replaced by one that does not. */
static inline void perf_use(uint64_t value)
{
    __asm__ volatile("" ::"r"(value));
}

/* Where a stream's loop of small messages goes next: lines in turn for messages of a line or less, always the same
 * place for larger ones. Stays clear of the low address bits of the private buffer (MEASURE_SKEW). */
static inline uint64_t perf_spot(uint64_t i, uint64_t len)
{
    return len <= PERF_LINE ? (i * PERF_LINE) % PERF_WORD_SPAN : 0;
}

/* Call loop(c, iters, len) with a length that the compiler knows for the sizes of words and of parts of a line. */
#define PERF_BY_LENGTH(loop, c, iters)             \
    switch ((c)->size) {                           \
    case 1: loop((c), (iters), 1); break;          \
    case 2: loop((c), (iters), 2); break;          \
    case 4: loop((c), (iters), 4); break;          \
    case 8: loop((c), (iters), 8); break;          \
    case 16: loop((c), (iters), 16); break;        \
    case 32: loop((c), (iters), 32); break;        \
    case 64: loop((c), (iters), 64); break;        \
    default: loop((c), (iters), (c)->size); break; \
    }

#endif

/* perf.h: the declarations that the files of tern-perf share: the options, the running job, a test, a kernel, and the
 * figures.
 *
 * A test is a row of the table in tests.c. For each size, the test passes a few kernels (loops that repeat one
 * operation) to the engine (engine.c). The engine runs the kernels in alternating slices on the ranks that they need
 * and stores the time per iteration of each slice. The test computes its figures from those times (report.c). A new
 * capability adds a file with its kernels and a row in the table.
 */
#ifndef TERN_PERF_H
#define TERN_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <tern.h>

#include "../../bench/measure.h"

#define PERF_MAX_KERNELS 16
#define PERF_MAX_REPEAT 1000
#define PERF_MAX_WINDOWS 16
#define PERF_MAX_WINDOW 65536
#define PERF_LINE 64u        /* bytes of a cache line */
#define PERF_WORD_SPAN 1024u /* loops over words and lines cycle through this many bytes of the target */

enum perf_format { PERF_TEXT, PERF_CSV, PERF_JSON };
enum perf_memory { PERF_HOST, PERF_HUGE, PERF_REGISTERED };

/* The options of the command line, as bits: those that were given, and those that a test uses. */
enum perf_option {
    PERF_SIZES = 1u << 0,
    PERF_WINDOW = 1u << 1,
    PERF_MEMORY = 1u << 2,
    PERF_VS_LIMIT = 1u << 3,
    PERF_TIME = 1u << 4,
    PERF_REPEAT = 1u << 5,
    PERF_ITERS = 1u << 6,
    PERF_TO_CSV = 1u << 7,
    PERF_TO_JSON = 1u << 8,
    PERF_PLOT = 1u << 9,
    PERF_NET = 1u << 10,
    PERF_RANKS = 1u << 11,
    PERF_ELEMENT = 1u << 12,
    PERF_GENERATE = 1u << 13,
    PERF_MESSAGES = 1u << 14,
    PERF_ROUNDS = 1u << 15,
    PERF_LIMIT = 1u << 16,
    PERF_PEERS = 1u << 17,
    PERF_BUILD = 1u << 18,
    PERF_SELF = 1u << 19,
    PERF_THREADS = 1u << 20,
    PERF_OUTPUT = 1u << 21,
    PERF_COMMIT = 1u << 22,
    PERF_HOSTS = 1u << 23,
    PERF_AGENT = 1u << 24,
    /* Combinations that several tests use: those of tests that print figures, and those of tests that run several
     * programs in turn. */
    PERF_FIGURES = PERF_TO_CSV | PERF_TO_JSON | PERF_PLOT,
    PERF_RUNS = PERF_FIGURES | PERF_NET | PERF_TIME | PERF_REPEAT | PERF_ROUNDS | PERF_LIMIT
};

/* The options of the command line. */
struct perf_options {
    uint64_t         sizes[MEASURE_MAX_SIZES];
    size_t           size_count; /* 0: the test's default */
    uint64_t         windows[PERF_MAX_WINDOWS];
    size_t           window_count;              /* 0: the test's default */
    uint64_t         iters;                     /* iterations of each slice; 0: as many as the time allows */
    double           time;                      /* seconds for all slices of one kernel; 0: the test's default */
    size_t           repeat;                    /* slices of each kernel; 0: the test's default */
    size_t           rounds;                    /* compare: runs of each program; 0 until main sets the default */
    uint64_t         ranks[PERF_MAX_WINDOWS];   /* numbers of ranks of the jobs that tern-perf starts */
    size_t           ranks_count;               /* 0: the test's default */
    uint64_t         threads[PERF_MAX_WINDOWS]; /* register: numbers of threads that register concurrently */
    size_t           threads_count;             /* 0: the test's default */
    uint64_t         messages;                  /* immediate: messages of rank 0 per run; 0: the test's default */
    uint64_t         element;                   /* strided_bw, indexed_bw, vector_bw: bytes of a contiguous piece */
    double           limit;                     /* compare, init: time limit of one run, in seconds */
    enum perf_format format;
    enum perf_memory memory;
    bool             vs_limit, quiet;
    bool             generate; /* am_lat: generate the payload while it is sent */
    bool             net;      /* ranks reach each other only over the network */
    bool             link_ofi; /* use libfabric even if it has only TCP */
    const char      *provider; /* libfabric provider; NULL: Tern's choice */
    const char      *plot;
    const char      *peers;  /* compare: directory of the peer programs; NULL: that of tern-perf */
    const char      *build;  /* compare: directory of another build of Tern; NULL: compare with the peers */
    bool             self;   /* compare: run the other build against itself */
    const char      *output; /* all: directory of the page; NULL: a new directory in the current one */
    const char      *commit; /* all: the name of the measured code; NULL: the version */
    const char      *hosts;  /* coll: the hosts of the ranks, as ternrun takes them; NULL: this one */
    const char      *agent;  /* coll: the agent of ternrun; NULL: the default */
    char           **words;  /* the arguments after the name of the test */
    size_t           word_count;
    double           budget; /* all: seconds that all rounds may take; 0: as long as they take */
    uint32_t         given;  /* enum perf_option: the options that the command line has */
    const char      *test;   /* the name of the test */
};

struct perf;

/* One size of one test. */
struct perf_case {
    struct perf *p;
    uint64_t     size;
    uint64_t     window; /* operations per iteration */
    uint64_t     stride; /* bytes between the messages of a window */
    int          target; /* the rank that this rank's kernels talk to */
    unsigned     turn;   /* which of the two message contents a ping-pong sends next */
};

/* The ranks that run a kernel. The other ranks wait, and sleep if the wait is long. */
enum perf_who { PERF_FIRST, PERF_PAIR, PERF_ALL };

struct perf_kernel {
    enum perf_who who;
    void (*run)(struct perf_case *c, uint64_t iters);
};

/* One test: a row of the table in tests.c. */
struct perf_test {
    const char *name, *what;
    const char *metric, *unit; /* the most important figure */
    const char *limit;         /* the limit that --vs-limit compares with; NULL: none */
    const char *sizes;         /* default sizes; NULL: the test has no sizes */
    const char *counts;        /* what sizes count; NULL: bytes */
    const char *windows;       /* default operations per iteration; NULL: one at a time */
    size_t      repeat;        /* default number of slices; 0: the default of most tests */
    int         min_ranks;
    uint32_t    uses, ignores;        /* enum perf_option, beside those that follow from the other members */
    bool        collective;           /* the test measures collective calls of all ranks */
    bool        pingpong;             /* the test needs the memory of a ping-pong */
    bool        empty;                /* 0 is a valid size */
    bool        net;                  /* the test runs as if --net were given */
    uint64_t (*bytes)(uint64_t size); /* bytes of memory that a size needs; NULL: size itself */
    void (*before)(int ranks);        /* called before tern_init; NULL: nothing */
    void (*run)(struct perf_case *c); /* runs inside a job, once per size */
    int (*command)(const struct perf_options *o); /* alternatively: runs without a job, started by the user */
};

/* The facts about a rank's memory that the other ranks need for raw system calls. */
struct perf_place {
    int64_t  pid;
    uint64_t address;
};

/* The state of a measuring job on this rank. */
struct perf {
    const struct perf_options *opt;
    const struct perf_test    *test;
    int                        rank, ranks, peer; /* peer: the other one of ranks 0 and 1; 0 in a job with one rank */
    tern_ctx                  *ctx;
    tern_region               *region; /* the measured memory: area bytes for streams, ping bytes for a ping-pong */
    unsigned char             *mine;   /* this rank's part of region */
    unsigned char             *theirs; /* the peer's part as a plain pointer; NULL if it cannot be mapped */
    unsigned char             *local;  /* private: area, then three times ping; MEASURE_SKEW off a page boundary */
    unsigned char             *local_map;
    size_t                     local_bytes;
    uint64_t                   area, ping;
    tern_region               *lines; /* one page of shared memory per rank, for the limits; only without a network */
    unsigned char             *my_line, *their_line;
    unsigned                   line_turn;
    bool                       network; /* ranks 0 and 1 share no memory: they reach each other only over a network */
    bool                       cores;   /* each rank has a core of its own */
    int                        tcp;     /* connection between ranks 0 and 1 if they share only a network; -1: none */
    bool                       sizeless_done; /* limits without a size are measured only once */
    struct perf_place          peer_place;
    const char                *link;  /* the link that reaches the peer's part */
    unsigned                   spins; /* polls of memory before a wait yields the core */
    unsigned                   gave_way;
    tern_event                *events;               /* [largest window] */
    double                    *ns[PERF_MAX_KERNELS]; /* [repeat] time per iteration of each slice; on rank 0 */
    size_t                     repeat;
    unsigned char             *gather; /* buffer for one small item from every rank */
};

/* engine.c: the job and its slices. */
void     perf_open(struct perf *p, const struct perf_options *opt, const struct perf_test *test);
void     perf_close(struct perf *p);
void     perf_run(struct perf *p);
void     perf_measure(struct perf_case *c, const struct perf_kernel *kernels, size_t count);
void     perf_fail(tern_status status, const char *what) __attribute__((cold, noinline, noreturn));
void     perf_give_way(struct perf *p) __attribute__((cold, noinline));
uint64_t perf_default_sizes(const struct perf_options *opt, const struct perf_test *test, uint64_t *sizes, size_t *n);

/* place.c: allocate the memory that a test works on, and check the cores. perf_place_check determines whether each rank
 * has a core of its own. */
void perf_place_open(struct perf *p, uint64_t max_size, uint64_t max_window);
void perf_place_close(struct perf *p);
bool perf_place_check(struct perf *p);

/* main.c */
void        perf_usage(void);
/* network.c. perf_use_net lets this process and the processes that it starts communicate only over the network. name is
 * a provider of libfabric, or "ofi": libfabric with its best provider; NULL: the network that TERN_LINKS names, or the
 * one that jobs on several nodes use. perf_net_link returns the link that perf_use_net(NULL) selects.
 * perf_names_network returns whether TERN_LINKS names a network. */
void        perf_use_net(const char *name);
const char *perf_net_link(void);
bool        perf_names_network(void);

/* options.c: parse the command line. Returns -1, or the exit status if the command line is invalid or complete. */
int      perf_options_parse(struct perf_options *o, int argc, char **argv);
/* Check that the test uses all options that were given. Returns 0, or the exit status after an error message. */
int      perf_options_check(const struct perf_options *o, const struct perf_test *test);
uint32_t perf_test_uses(const struct perf_test *test); /* enum perf_option */
bool     perf_speaks(void);
int      perf_complain(const char *what, const char *about); /* print an error message and return the exit status */
int      perf_no_such_test(const char *name);

/* Find the name that is most similar to a word: call perf_nearest with each candidate. name stays NULL if none is
 * similar. */
struct perf_near {
    const char *name;
    size_t      edits;
};
void perf_nearest(const char *word, const char *candidate, struct perf_near *near);

/* start.c: return whether a launcher has started this process as a rank of a job. */
bool perf_start_launched(void);
/* Become a ternrun that runs the same command line in a job. Returns an exit status if that fails. */
int  perf_start_ranks(const struct perf_options *o, const struct perf_test *test, char **argv);

/* tests.c */
extern const struct perf_test perf_tests[];
extern const size_t           perf_test_count;
const struct perf_test       *perf_test_find(const char *name);

/* The tests. */
void perf_put_lat(struct perf_case *c);
void perf_get_lat(struct perf_case *c);
void perf_put_bw(struct perf_case *c);
void perf_get_bw(struct perf_case *c);
void perf_put_rate(struct perf_case *c);
void perf_get_rate(struct perf_case *c);
void perf_barrier(struct perf_case *c);
void perf_share(struct perf_case *c);
void perf_coll(struct perf_case *c);
void perf_coll_overlap(struct perf_case *c);
void perf_team_create(struct perf_case *c);
void perf_window(struct perf_case *c);
void perf_order(struct perf_case *c);
void perf_idle(struct perf_case *c);
void perf_wake_lat(struct perf_case *c);
void perf_shared_ctx(struct perf_case *c);
void perf_region_grow(struct perf_case *c);
void perf_put_adopted(struct perf_case *c);
void perf_wake_before(int ranks);
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
int  perf_coll_ways(const struct perf_options *o);
int  perf_all(const struct perf_options *o);
int  perf_history(const struct perf_options *o);
/* network.c: describe the network that a job would use, or say why there is none. Returns whether there is one. */
bool perf_network_name(char *text, size_t size);

/* Return the bytes of memory that a size of these tests needs: shapes.c; matrix.c, for a matrix and for a matrix that
 * is twice as wide. */
uint64_t perf_shape_bytes(uint64_t size);
uint64_t perf_matrix_bytes(uint64_t size);
uint64_t perf_section_bytes(uint64_t size);
uint64_t perf_chain_bytes(uint64_t size);  /* trigger.c */
uint64_t perf_shared_bytes(uint64_t size); /* shared_ctx.c */

/* Kernels that more than one test uses. limits.c: what the machine can do without Tern. */
void               perf_line_pingpong(struct perf_case *c, uint64_t iters);
void               perf_plain_store(struct perf_case *c, uint64_t iters);
void               perf_plain_load(struct perf_case *c, uint64_t iters);
void               perf_copy_to(struct perf_case *c, uint64_t iters);
void               perf_copy_from(struct perf_case *c, uint64_t iters);
/* tcp.c: the same limits over TCP, for ranks that share only a network. */
void               perf_tcp_open(struct perf *p);
void               perf_tcp_close(struct perf *p);
void               perf_tcp_pingpong(struct perf_case *c, uint64_t iters);
void               perf_tcp_to(struct perf_case *c, uint64_t iters);
void               perf_tcp_from(struct perf_case *c, uint64_t iters);
/* limits.c: the limit that applies to this job: through memory, or over TCP. */
struct perf_kernel perf_limit_trip(const struct perf *p);
struct perf_kernel perf_limit_to(const struct perf *p);
struct perf_kernel perf_limit_from(const struct perf *p);
const char        *perf_limit_trip_name(const struct perf *p); /* the name of half a round trip */
/* lat.c and bw.c */
void               perf_put_blocking(struct perf_case *c, uint64_t iters);
void               perf_get_blocking(struct perf_case *c, uint64_t iters);
void               perf_put_pingpong(struct perf_case *c, uint64_t iters);
void               perf_pingpong_prepare(struct perf_case *c);
void               perf_stream_put(struct perf_case *c, uint64_t iters);
void               perf_stream_get(struct perf_case *c, uint64_t iters);
/* amlat.c: return whether a medium message of this size can be sent. The first size above the maximum is replaced by
 * the maximum. */
bool               perf_am_fit(struct perf_case *c);
/* Collective. Return a kernel of round trips of short active messages, for a case of size 0. */
struct perf_kernel perf_am_trip(struct perf_case *c);
/* Make progress until handlers have raised *count to want. */
void               perf_am_await(struct perf *p, const volatile uint64_t *count, uint64_t want);

/* report.c: figures. Each perf_figure_ function computes one figure with its spread from the kernels' slices, on rank
 * 0. perf_figure_values computes a figure from any p->repeat values. */
void perf_figure_values(const struct perf_case *c, double *values, const char *metric, const char *unit);
void perf_figure_time(const struct perf_case *c, size_t kernel, double divide, const char *metric);
void perf_figure_bandwidth(const struct perf_case *c, size_t kernel, double bytes, const char *metric);
void perf_figure_rate(const struct perf_case *c, size_t kernel, double operations, const char *metric);
void perf_figure_difference(const struct perf_case *c, size_t kernel, size_t less, const char *metric);
/* The figure is the time of kernel top divided by the time of kernel bottom, slice by slice, multiplied by factor. */
void perf_figure_ratio(const struct perf_case *c, size_t top, size_t bottom, double factor, const char *metric);

/* One line of CSV: a value, with its spread if spread is set. */
struct perf_figure {
    const char            *test, *link;
    const char            *label; /* the name of the link in plots and pages; NULL: link */
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
void                      perf_report_csv(FILE *to, const struct perf_figure *figure);
void                      perf_report_json(FILE *to, const struct perf_figure *figure);
void                      perf_report_json_all(FILE *to); /* all figures, as an array */
/* Return what the sizes of a test count: "bytes", or what its row in tests.c says. */
const char               *perf_size_counts(const char *test);
/* Write a size as a number, or "-" if the figures of the test have no size. */
void                      perf_size_text(const char *test, uint64_t size, char text[24]);

/* plot.c: return false, and print the reason, if the plot cannot be made. */
bool perf_plot_possible(const char *file);
bool perf_plot(const char *file, const char *title);
bool perf_plot_figures(const char *file, const char *title, const struct perf_figure *figures, size_t count);

/* progress.c: a progress bar on standard error, if that is a terminal. done ranges from 0 to 1. */
void perf_progress_begin(const char *what, bool show);
void perf_progress_part(double from, double to); /* map 0 and 1 of later calls to from and to */
void perf_progress(double done);
void perf_progress_end(void);

/* child.c: another program with a time limit. The child has a process group of its own, and the whole group ends with
 * it. */
struct perf_child {
    pid_t   pid;
    int     out, err; /* pipes; -1: closed */
    int64_t deadline;
    int64_t started, finished; /* when the child was forked, and when its end was noticed */
    char   *text[2];           /* its standard output and standard error, truncated to 1 MiB, terminated by 0 */
    size_t  length[2];
    int     status; /* as returned by waitpid */
    bool    late;   /* the child was killed because its time limit expired */
};
bool perf_child_start(struct perf_child *child, char *const argv[], char *const extra_env[], double seconds);
bool perf_child_finish(struct perf_child *child); /* true: the child exited with status 0 */
void perf_child_kill(struct perf_child *child);
void perf_child_free(struct perf_child *child);
void perf_child_guard(void);   /* from now on, signals that end this program end its children first */
bool perf_child_stopped(void); /* whether a signal came: then start no more children, and clean up */
void perf_child_obey(void);    /* end the program by the signal that came; returns if none came */
bool perf_find_program(const char *name, char *path, size_t size);
bool perf_find_sibling(const char *dir, const char *name, char *path, size_t size);

/* End the job if status is an error. The check costs nothing where the compiler can see that the call succeeded. */
static inline void perf_must(tern_status status, const char *what)
{
    if (TERN_UNLIKELY(status < 0))
        perf_fail(status, what);
}

/* Poll until *byte equals value. Yields the core if the wait is long. */
static inline void perf_await(struct perf *p, const volatile unsigned char *byte, unsigned char value)
{
    unsigned spins = 0;

    while (*byte != value) {
        if (TERN_UNLIKELY(++spins > p->spins))
            perf_give_way(p);
    }
    /* acquire: the other data that the peer wrote is read after the byte. Pairs with the release in tern_put. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Prevent the compiler from moving, merging or removing the memory accesses around this point. */
static inline void perf_keep(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Mark value as used, so that the compiler cannot replace the instruction that produces it by one that does not return
 * it. */
static inline void perf_use(uint64_t value)
{
    __asm__ volatile("" ::"r"(value));
}

/* Return the offset of message i in a stream of small messages: successive lines for messages of a line or less, always
 * the same offset for larger ones. The offsets avoid the low address bits of the private buffer (MEASURE_SKEW). */
static inline uint64_t perf_spot(uint64_t i, uint64_t len)
{
    return len <= PERF_LINE ? (i * PERF_LINE) % PERF_WORD_SPAN : 0;
}

/* Return the private buffer of messages. The compiler learns that there is one, as it does for the variables and arrays
 * of a program. */
static inline unsigned char *perf_buffer(const struct perf_case *c)
{
    if (c->p->local == NULL)
        __builtin_unreachable();
    return c->p->local;
}

/* Return the private buffer of a window of messages. Words lie in the second half of their lines: a load waits for an
 * earlier store to an address with the same lower 12 bits, and the stores of a window fill a page. */
static inline unsigned char *perf_window_buffer(const struct perf_case *c, uint64_t len)
{
    return perf_buffer(c) + (len <= PERF_LINE / 2 ? PERF_LINE / 2 : 0);
}

/* Define a kernel, such as "static void put_windows", that calls loop(c, iters, len) with a length that is a
 * compile-time constant for the sizes of words and of parts of a line. Each of these loops is a function of its own, so
 * that its variables stay in registers, as they do in the loop of a program. */
#define PERF_LOOP_OF(loop, suffix, len)                                                        \
    static __attribute__((noinline)) void loop##_##suffix(struct perf_case *c, uint64_t iters) \
    {                                                                                          \
        loop(c, iters, len);                                                                   \
    }
#define PERF_BY_LENGTH(kernel, loop)            \
    PERF_LOOP_OF(loop, 1, 1)                    \
    PERF_LOOP_OF(loop, 2, 2)                    \
    PERF_LOOP_OF(loop, 4, 4)                    \
    PERF_LOOP_OF(loop, 8, 8)                    \
    PERF_LOOP_OF(loop, 16, 16)                  \
    PERF_LOOP_OF(loop, 32, 32)                  \
    PERF_LOOP_OF(loop, 64, 64)                  \
    PERF_LOOP_OF(loop, any, c->size)            \
    kernel(struct perf_case *c, uint64_t iters) \
    {                                           \
        switch (c->size) {                      \
        case 1: loop##_1(c, iters); break;      \
        case 2: loop##_2(c, iters); break;      \
        case 4: loop##_4(c, iters); break;      \
        case 8: loop##_8(c, iters); break;      \
        case 16: loop##_16(c, iters); break;    \
        case 32: loop##_32(c, iters); break;    \
        case 64: loop##_64(c, iters); break;    \
        default: loop##_any(c, iters); break;   \
        }                                       \
    }

#endif

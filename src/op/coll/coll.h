/* coll.h: collective operations.
 *
 * A collective operation is a schedule: a list of steps that this rank makes, such as to send to a rank, to receive
 * from one, to copy, to combine, and to wait for earlier steps. An algorithm (struct tern_coll_algorithm) is a function
 * that writes the schedule for this rank; it neither communicates nor waits. The schedule is written when the program
 * makes the call, and is executed by whichever thread makes progress for the team (station.c, run.c): the program's
 * threads, or the helper thread while the program computes. Blocking, nonblocking and triggered calls therefore share
 * their code.
 *
 * Messages are tagged messages (op/tagged) in a scope of their own, on a context of the team's station that the program
 * does not see. Their tag contains the number of the collective call on the team and a digest of its arguments. The
 * messages of a call between two ranks match in order, so both ranks must write matching sends and receives in the same
 * order.
 *
 * Short blocking calls of teams on one node do not need a schedule: board.c. */
#pragma once

#include <pthread.h>
#include <tern/coll.h>

#include "boot/helper.h"
#include "core/context.h"
#include "core/op.h"
#include "op/coll/kernels.h"
#include "op/tagged/request.h"

/* ns that a blocking call sleeps between two searches for calls that do not match. A member wakes the members that need
 * its contribution according to its own arguments; if arguments differ, a member may never be woken. */
#define TERN_COLL_LOOK_NS 20000000ll

/* The calls: X(name, text). The numbers travel in tags. */
#define TERN_COLL_CALLS(X)                \
    X(SYNC, "sync")                       \
    X(BROADCAST, "broadcast")             \
    X(REDUCE, "reduce")                   \
    X(ALLREDUCE, "allreduce")             \
    X(REDUCE_SCATTER, "reduce_scatter")   \
    X(GATHER, "gather")                   \
    X(SCATTER, "scatter")                 \
    X(ALLGATHER, "allgather")             \
    X(ALLTOALL, "alltoall")               \
    X(SCAN, "scan")                       \
    X(EXSCAN, "exscan")                   \
    X(REDUCE_SCATTERV, "reduce_scatterv") \
    X(GATHERV, "gatherv")                 \
    X(SCATTERV, "scatterv")               \
    X(ALLGATHERV, "allgatherv")           \
    X(ALLTOALLV, "alltoallv")             \
    X(ALLTOALLS, "alltoalls")             \
    X(BARRIER, "barrier")
#define TERN_COLL_AS_ENUM(name, text) TERN_COLL_##name,
enum tern_coll_call { TERN_COLL_CALLS(TERN_COLL_AS_ENUM) TERN_COLL_COUNT };

/* Return the name of a public call, such as "tern_sync". Any number is permitted. */
const char *tern_op_coll_name(unsigned call);

/* The description of a rank's call. It must be equal on all ranks, apart from own. Debug builds send it: see
 * check.h. */
struct tern_coll_says {
    uint64_t digest;  /* digest of the root, the amount, the elements and the lengths of blocks */
    uint64_t amount;  /* elements of a reduction, otherwise bytes; of lists the sum, or 0 if ranks do not know it */
    uint64_t elem;    /* bytes of an element, or 0 */
    uint64_t own;     /* bytes of this rank's block */
    int32_t  root;    /* -1: none */
    uint16_t kind;    /* type, reduction and flags: struct tern_coll_how */
    uint8_t  call;    /* enum tern_coll_call */
    uint8_t  blocks;  /* 1: a blocking call */
    uint32_t unknown; /* fields that are unknown, in a description of another rank */
    uint32_t reserved;
};
enum { TERN_COLL_SAYS_AMOUNT = 1, TERN_COLL_SAYS_ROOT = 2 };

/* The blocks of an array by rank: all of `each` bytes, one after the other (len is NULL), or as the program has listed
 * them. */
struct tern_coll_blocks {
    const size_t *len, *offset;
    size_t        each;
};

/* The checked arguments of a call. They are read only until the schedule is written. */
struct tern_coll_args {
    const char                *what; /* name of the call in reports */
    uint8_t                    call; /* enum tern_coll_call */
    int                        root; /* -1: none */
    const unsigned char       *src;
    unsigned char             *dst;
    size_t                     len;      /* bytes of a broadcast, of a reduction, or of this rank's block */
    struct tern_coll_blocks    from, to; /* the blocks of src and dst, if the call has blocks */
    struct tern_coll_how       how;
    const tern_alltoalls_args *strided;
    bool                       blocks; /* a blocking call */
    uint64_t                   digest; /* see struct tern_coll_says */
    uint64_t                   amount;
};

/* ---- schedules ---- */

enum tern_coll_step_kind {
    TERN_COLL_SEND,
    TERN_COLL_RECV,
    TERN_COLL_WAIT, /* wait for all earlier sends and receives */
    TERN_COLL_COPY,
    TERN_COLL_COMBINE, /* to = from combined with `with`; from belongs to lower ranks */
    TERN_COLL_PACK,    /* copy count elements of `bytes` bytes at the strides */
    TERN_COLL_COMPARE, /* compare the calls of all ranks: check.h */
    TERN_COLL_MEET,    /* all ranks have published the places of their arrays: direct_with.h */
    TERN_COLL_AGREE,   /* all ranks know whether each can reach the memory of the others: direct_with.h */
    TERN_COLL_WORK,    /* access the arrays of the other ranks: direct_with.h */
};

struct tern_coll_step {
    uint8_t              kind;   /* enum tern_coll_step_kind */
    bool                 checks; /* step of the comparison of calls, whose messages have their own tag */
    int32_t              peer;   /* rank in the team */
    const unsigned char *from, *with;
    unsigned char       *to;
    size_t               bytes, count, from_stride, to_stride; /* strides in bytes */
    struct tern_request *request; /* a started send or receive that is not complete; NULL: none */
};

struct tern_coll_temp {
    struct tern_coll_temp *next;
    _Alignas(64) unsigned char bytes[];
};

struct tern_station;
struct tern_coll_nodes;
struct tern_direct_with;

/* An operation. Its first part is a record to which events point (core/op.h). */
struct tern_coll {
    struct tern_op           op;   /* must be first */
    struct tern_list         node; /* on a list of the station */
    struct tern_station     *station;
    struct tern_ctx         *ctx;        /* context of the program: private, or the inner context of a shared one */
    struct tern_counter     *counter;    /* incremented at the end; NULL: none */
    int                      rank, size; /* of this process in the team, and of the team; with a view: in the view */
    uint8_t                  call;
    int                      root;
    const int32_t           *view; /* ranks of the members for which steps are being written; NULL: all members */
    struct tern_coll_says    says;
    uint32_t                 number; /* number of the call on the team */
    uint64_t                 tag;
    const char              *algorithm; /* its name, for reports */
    struct tern_coll_how     how;
    struct tern_coll_step   *step;              /* [steps] */
    uint32_t                 steps, room, next; /* steps written; steps allocated; the next step to execute */
    uint32_t                 oldest;            /* no step before this one has a request */
    size_t                   moved;             /* bytes that all its messages send and receive */
    struct tern_coll_temp   *temps;
    struct tern_direct_with *direct; /* access to the arrays of other members (direct_with.h); NULL: none */
    tern_status              status; /* the first error */
    bool                     blocks; /* the program waits in the call */
    bool                     parked; /* the operation waits for its counter, or for operations of its context */
    uint8_t  gates;       /* number of events that the parked operation waits for; guarded by the door of the station */
    bool     ended;       /* a thread is about to report the end of the operation. Guarded by the lock of the station */
    bool     warned;      /* the other members know of the error */
    uint32_t looks;       /* number of polls without progress, for the search for mismatched calls */
    char     detail[384]; /* text of the error; "": none */
};

/* Write a step. A step for which there is no memory makes the schedule fail (status). */
void tern_coll_send(struct tern_coll *c, int peer, const void *from, size_t bytes);
void tern_coll_recv(struct tern_coll *c, int peer, void *to, size_t bytes);
void tern_coll_wait(struct tern_coll *c);
void tern_coll_step(struct tern_coll *c, enum tern_coll_step_kind kind); /* a kind that needs no arguments */
void tern_coll_copy(struct tern_coll *c, void *to, const void *from, size_t bytes);
void tern_coll_combine(struct tern_coll *c, void *to, const void *lower, const void *upper, size_t bytes);
/* Copy count elements of `bytes` bytes; the strides are distances in bytes. */
void tern_coll_pack(struct tern_coll *c, void *to, size_t to_stride, const void *from, size_t from_stride, size_t bytes,
                    size_t count);
/* Allocate memory that lives until the operation ends. Never NULL: if there is no memory, the schedule has failed. */
unsigned char *tern_coll_temp(struct tern_coll *c, size_t bytes);

/* Some members of a team. */
struct tern_coll_view {
    const int32_t *member;     /* [size] their ranks in the team */
    int            rank, size; /* rank of this process among these members, and their number */
    int            root;       /* number of the root among these members, if the call has a root */
};

/* Write a call of these members only, with the algorithm that suits their number. There must be at least two. */
void tern_coll_write_among(struct tern_coll *c, const struct tern_coll_view *view, const struct tern_coll_args *args);

/* A block of an array. */
static inline size_t tern_coll_len(const struct tern_coll_blocks *blocks, int rank)
{
    return blocks->len ? blocks->len[rank] : blocks->each;
}

/* Return the offset of a block. If the program has listed only lengths, the caller has computed the offsets. */
static inline size_t tern_coll_at(const struct tern_coll_blocks *blocks, int rank)
{
    return blocks->len ? blocks->offset[rank] : (size_t)rank * blocks->each;
}

/* ---- algorithms ---- */

/* The order in which an algorithm combines the elements of the ranks. */
enum tern_coll_order {
    TERN_COLL_ANY,    /* any order that is the same in every run */
    TERN_COLL_RANKS,  /* neighbours first: correct for functions that do not commute */
    TERN_COLL_FOLDED, /* one rank after the other, as TERN_REPRODUCIBLE requires */
};

/* For which teams an algorithm can be used. */
enum tern_coll_teams {
    TERN_COLL_ALL_TEAMS,
    TERN_COLL_POWERS,    /* the size is a power of two */
    TERN_COLL_HIERARCHY, /* several nodes, of which some have several members */
    TERN_COLL_ORDERED,   /* several nodes, and the members of each node follow each other */
};

/* Write the schedule of this rank. The team has at least two ranks. */
typedef void tern_coll_write_fn(struct tern_coll *c, const struct tern_coll_args *args);

struct tern_coll_algorithm {
    const char         *name;
    tern_coll_write_fn *write;
    uint8_t             order; /* enum tern_coll_order, of a reduction */
    uint8_t             teams; /* enum tern_coll_teams */
};

/* The algorithms of each call, terminated by an entry without a name. The files of this folder are named after the
 * calls. */
extern const struct tern_coll_algorithm tern_coll_sync[], tern_coll_broadcast[], tern_coll_reduce[],
    tern_coll_allreduce[], tern_coll_reduce_scatter[], tern_coll_gather[], tern_coll_scatter[], tern_coll_allgather[],
    tern_coll_alltoall[], tern_coll_scan[], tern_coll_gatherv[], tern_coll_scatterv[], tern_coll_allgatherv[],
    tern_coll_alltoallv[], tern_coll_alltoalls[], tern_coll_reduce_scatterv[];

/* hierarchy.c: the algorithms with a leader on each node. */
extern tern_coll_write_fn tern_coll_hierarchy_sync, tern_coll_hierarchy_broadcast, tern_coll_hierarchy_reduce,
    tern_coll_hierarchy_allreduce, tern_coll_hierarchy_reduce_scatter, tern_coll_hierarchy_gather,
    tern_coll_hierarchy_scatter, tern_coll_hierarchy_allgather, tern_coll_hierarchy_alltoall;

/* Choose the algorithm of a call: the forced one if it can be used, otherwise the one in the table of select.c. flat:
 * the call is made by some members of a team, without a hierarchy. */
const struct tern_coll_algorithm *tern_op_coll_select(const struct tern_station   *station,
                                                      const struct tern_coll_args *args);
const struct tern_coll_algorithm *tern_op_coll_select_flat(int size, const struct tern_coll_args *args);

/* The algorithm that TERN_COLL forces for each call; NULL: none. Some of them are not schedules: board.h and
 * direct.h. */
extern const char *tern_op_coll_forced[TERN_COLL_COUNT];

/* Return whether the option forces this algorithm for a call. */
bool tern_op_coll_forces(unsigned call, const char *name);

/* ---- the station of a team ---- */

#define TERN_BOARD_CELLS 64u
#define TERN_BOARD_PAGES 4u

/* What the program did after it started the last long operation. A program that waited for that operation immediately
 * probably waits for the next one, too, and two threads that do the same work are slower than one. */
enum tern_coll_after { TERN_COLL_AFTER_UNKNOWN, TERN_COLL_AFTER_WAITED, TERN_COLL_AFTER_COMPUTED };

struct tern_station {
    pthread_mutex_t         lock;  /* guards ctx, active, ended and the operations on these lists */
    struct tern_team       *team;  /* the program's team */
    struct tern_coll_nodes *nodes; /* nodes.h; NULL: the team is on one node */
    struct tern_team        scope; /* like the team, with a group that has the number of the scope */
    struct tern_link_group  group;
    struct tern_ctx        *ctx;     /* context on which messages are sent and received */
    struct tern_list        active;  /* operations that have started */
    pthread_mutex_t         door;    /* guards arrived */
    struct tern_list        arrived; /* operations that are to start */
    _Atomic uint32_t        busy;    /* number of operations that have not ended, without parked ones */
    _Atomic bool            again;   /* a thread that did not get the lock has found work */
    uint32_t                number;  /* number of the last call on the team */
    uint32_t                sends;   /* number of blocking calls that sent messages. Written by the claiming thread */
    uint32_t                losses;
    bool                    failed;       /* an operation failed half way, so no later one can be completed */
    uint32_t                failed_first; /* number of the first operation that failed. Guarded by the lock */
    _Atomic bool            broken;       /* a call failed half way */
    _Atomic bool            lost;   /* a call failed because a member is gone; the launcher may not know this yet */
    bool                    quit;   /* the other members know that calls fail here */
    struct tern_coll_temp  *debris; /* memory that peers may still read */
    struct tern_activity    activity;
    _Atomic uint8_t         after;                   /* enum tern_coll_after */
    _Atomic int64_t         started;                 /* when the program had started the last long operation */
    struct tern_list        helped;                  /* on the list of the helper */
    struct tern_board      *board;                   /* [size] board.h; NULL: none */
    struct tern_reach      *reach;                   /* reach.h; NULL: no member has accessed the memory of others */
    struct tern_reach      *reach_with;              /* the same for nonblocking operations. Guarded by the lock */
    uint32_t                meeting;                 /* number of the last blocking call of a team with a board */
    uint32_t                cleared;                 /* all members have completed this meeting */
    uint32_t                paged[TERN_BOARD_PAGES]; /* the last meeting for which each page of the board was used */
};

/* Return the station of the context's team. The first call creates it. NULL, with a detail: no memory. The caller has
 * claimed the team. */
struct tern_station *tern_op_coll_station_make(struct tern_team *team);

static inline struct tern_station *tern_op_coll_station(struct tern_team *team)
{
    return TERN_LIKELY(team->coll != NULL) ? team->coll : tern_op_coll_station_make(team);
}

/* Create an operation on a station, with the next number of the team. NULL, with a detail: no memory. */
struct tern_coll *tern_op_coll_new(struct tern_station *station, struct tern_ctx *ctx,
                                   const struct tern_coll_args *args);

/* Let an operation start, in any thread. The caller makes progress, or wakes the helper thread. Returns whether the
 * helper thread must serve the operation at once. */
bool tern_op_coll_arrive(struct tern_coll *c);

/* Report one of the events that a parked operation waits for. The last event lets the operation start; an error ends it
 * instead. */
void tern_op_coll_open_gate(struct tern_coll *c, tern_status status, const char *text);

/* Make progress on the operations of a station. */
void tern_op_coll_progress(struct tern_station *station);

/* Make progress for a thread that starts an operation and does not wait for it: long steps are left to other threads.
 * The caller wakes the helper thread afterwards. is_brief: whether this thread leaves long steps to others. */
void tern_op_coll_progress_briefly(struct tern_station *station);
bool tern_op_coll_is_brief(void);

/* Record the first error of an operation. */
void tern_op_coll_fail(struct tern_coll *c, tern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* run.c: execute the steps that can be executed. Returns whether any was executed. *over: the operation has ended, and
 * nothing of it is in flight. The caller holds the lock of the station. */
bool tern_op_coll_run(struct tern_coll *c, bool *over);

/* Stop a failed operation as far as possible. Returns true if nothing in flight writes to its memory. */
bool tern_op_coll_stop(struct tern_coll *c);

/* Describe the event that the operation waits for. */
void tern_op_coll_describe(const struct tern_coll *c, char *text, size_t size);

/* ---- the calls (start.c) ---- */

/* Write the schedule of a call that sends messages. */
void tern_op_coll_write(struct tern_coll *c, const struct tern_coll_args *args);

/* Make a checked call: a blocking one (opts is NULL), or one with options. */
tern_status tern_op_coll_call(struct tern_ctx *ctx, struct tern_coll_args *args, const tern_opts *opts);

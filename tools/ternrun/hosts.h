/* hosts.h: ternrun on several hosts: the one that the user started, the head, and one on each host, a node.
 *
 * The head starts `agent... HOST ternrun --node` for each host; the standard input and output of that are the channel
 * (boot/frame_io.h) between head and node. A node runs its share of the ranks as ternrun always does, but whatever it
 * would say to the user it says to the head. The head is the hub of the relay (boot/relay.h).
 */
#ifndef TERNRUN_HOSTS_H
#define TERNRUN_HOSTS_H

#include "boot/frame_io.h"
#include "boot/relay.h"
#include "ternrun.h"

/* ---- a node and its head ---- */

/* What is to be started on the hosts. Travels as the body of START. */
struct run_order {
    uint64_t       job; /* random; names it */
    int            hosts;
    const int     *count; /* [hosts] ranks on each */
    int            on_failure, binding;
    double         grace;
    bool           verbose;
    unsigned       terminals;
    struct winsize window;
    const char    *cpu_list, *directory;
    char         **program, **environment; /* closed by NULL */
    void          *store;                  /* of a decoded one: where all this is */
};

/* order.c. encode returns allocated bytes, NULL without memory. decode copies; false: the bytes make no sense. */
unsigned char *run_order_encode(const struct run_order *order, size_t *len);
bool           run_order_decode(const unsigned char *bytes, size_t len, struct run_order *order);
void           run_order_free(struct run_order *order);
/* Whether a variable of the environment belongs to a host and does not travel. */
bool           run_order_stays(const char *variable);

/* up.c: the way from a node to its head. */
struct run_up {
    struct tern_frame_io channel;
    struct tern_relay   *relay;   /* NULL: the job has one node */
    int                  tell[2]; /* the pipe through which ranks tell that something changed */
    struct run_order     order;
    int                  node;
};

/* Make this node's arena, and the relay. False: tern_base_detail() tells why. */
bool   run_up_arena(struct run_job *job, struct tern_boot_shape *shape);
size_t run_up_poll(struct run_job *job, struct pollfd *fds);
void   run_up_serve(struct run_job *job);
void   run_up_fate(struct run_job *job, int rank, const struct run_verdict *verdict);
void   run_up_failed(struct run_up *up, int status, const char *text);
void   run_up_say(struct run_up *up, const char *text);
bool   run_up_has_room(const struct run_up *up); /* for output */
void   run_up_output(struct run_up *up, const struct run_stream *stream);
bool   run_up_flushed(const struct run_up *up);
void   run_up_done(struct run_up *up); /* nothing is left here: say so, and wait until that is on its way */

/* node.c: ternrun --node. */
int run_node(void);

/* ---- the head and its hosts ---- */

enum run_host_state {
    HOST_CALLED, /* the agent was started */
    HOST_READY,  /* ternrun has answered there */
    HOST_RUNS,   /* and was told what to start */
    HOST_DONE,   /* nothing of the job is left there */
    HOST_GONE    /* it cannot be reached any more */
};

struct run_host {
    char                *name;
    int                  first, ranks;
    enum run_host_state  state;
    struct tern_frame_io channel;
    pid_t                agent; /* also its process group; 0: none, or reaped */
    int                  ended; /* wait status of an agent that was reaped */
    int                  err;   /* what it says on standard error; -1: at its end */
    char                 line[512], last[512];
    size_t               line_len;
    int                  asked;        /* the last signal by which the host was told to end */
    int64_t              lost_at;      /* the channel is closed: how long to wait for the agent's status */
    bool                 is_senseless; /* it said what makes no sense, */
    uint32_t             about;        /* of this rank */
};

/* hosts.c: read the text of --hosts. ranks is 0, or what -n says. False: why, for the user. */
bool run_hosts_read(const char *text, int ranks, struct run_config *config, char *why, size_t size);
void run_hosts_free(struct run_config *config);

/* hub.c */
void run_host_tell(struct run_host *host, const struct tern_frame *frame); /* nothing, unless it runs */
void run_hub_tell_all(struct run_job *job, uint32_t kind, int rank, uint32_t value);
void run_host_close(struct run_host *host, enum run_host_state state);
bool run_hub_follows(struct run_job *job, const struct tern_frame *frame); /* whether its rank may say that now */
bool run_hub_input_credit(struct run_job *job, size_t bytes);              /* false: that many it never had */

/* hear.c: hear what a host says, and notice when it says no more. */
void run_host_listen(struct run_job *job, struct run_host *host);

/* agent.c: start the agent for a host; listen to what it says. */
bool run_agent_start(struct run_job *job, struct run_host *host, int *status);
void run_agent_listen(struct run_job *job, struct run_host *host);
/* How it ended, for a message. */
void run_agent_text(const struct run_job *job, const struct run_host *host, char *text, size_t size);

#endif

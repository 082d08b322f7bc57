/* hosts.h: ternrun on several hosts. The ternrun that the user started is the head; the ternrun on each host is a node.
 *
 * For each host, the head starts `agent... HOST ternrun --node`, whose standard input and output are the channel
 * (boot/frame_io.h) between head and node. A node runs its part of the ranks like any ternrun, but sends every message
 * for the user to the head. The head is the hub of the relay (boot/relay.h).
 */
#ifndef TERNRUN_HOSTS_H
#define TERNRUN_HOSTS_H

#include "boot/frame_io.h"
#include "boot/relay.h"
#include "ternrun.h"

/* ---- a node and its head ---- */

/* The start order: what the hosts are to start. It is sent as the body of START. */
struct run_order {
    uint64_t       job; /* random identifier of the job */
    int            hosts;
    const int     *count; /* [hosts] number of ranks on each host */
    int            on_failure, binding;
    double         grace;
    bool           verbose;
    unsigned       terminals;
    struct winsize window;
    const char    *cpu_list, *directory;
    char         **program, **environment; /* terminated by NULL */
    void          *store;                  /* after decoding: the memory that holds the texts */
};

/* order.c: run_order_encode returns allocated bytes, or NULL if there is no memory. run_order_decode copies the bytes
 * and returns false if they are invalid. */
unsigned char *run_order_encode(const struct run_order *order, size_t *len);
bool           run_order_decode(const unsigned char *bytes, size_t len, struct run_order *order);
void           run_order_free(struct run_order *order);
/* Return whether an environment variable belongs to a host and is not sent to other hosts. */
bool           run_order_stays(const char *variable);

/* up.c: the connection from a node to its head. */
struct run_up {
    struct tern_frame_io channel;
    struct tern_relay   *relay;   /* NULL until run_up_arena */
    int                  tell[2]; /* the pipe through which ranks report changes of their slots */
    struct run_order     order;
    int                  node;
};

/* Create this node's arena and the relay. Returns false on failure; tern_base_detail() says why. */
bool   run_up_arena(struct run_job *job, struct tern_boot_shape *shape);
size_t run_up_poll(struct run_job *job, struct pollfd *fds);
void   run_up_serve(struct run_job *job);
void   run_up_fate(struct run_job *job, int rank, const struct run_verdict *verdict);
void   run_up_failed(struct run_up *up, int status, const char *text);
void   run_up_say(struct run_up *up, const char *text);
bool   run_up_has_room(const struct run_up *up); /* whether more output can be queued */
void   run_up_output(struct run_up *up, const struct run_stream *stream);
bool   run_up_flushed(const struct run_up *up);
void   run_up_done(struct run_up *up); /* send DONE, and wait until it is written */

/* node.c: ternrun --node. */
int run_node(void);

/* ---- the head and its hosts ---- */

enum run_host_state {
    HOST_CALLED, /* the agent was started */
    HOST_READY,  /* ternrun on the host has sent HELLO */
    HOST_RUNS,   /* the host was sent the start order */
    HOST_DONE,   /* nothing of the job is left on the host */
    HOST_GONE    /* the host cannot be reached any more */
};

struct run_host {
    char                *name;
    int                  first, ranks;
    enum run_host_state  state;
    struct tern_frame_io channel;
    pid_t                agent; /* also its process group; 0: none, or already reaped */
    int                  ended; /* wait status of an agent that was reaped */
    int                  err;   /* standard error of the agent; -1: at end of file */
    char                 line[512], last[512];
    size_t               line_len;
    int                  asked;        /* the last signal sent to the host with END */
    int64_t              lost_at;      /* the channel is closed: end of the wait for the agent's exit status */
    bool                 is_senseless; /* the host sent an invalid frame */
    uint32_t             about;        /* rank in the invalid frame */
};

/* hosts.c: read the text of --hosts. ranks is the value of -n, or 0. Returns false on error; why is then the message
 * for the user. */
bool run_hosts_read(const char *text, int ranks, struct run_config *config, char *why, size_t size);
void run_hosts_free(struct run_config *config);

/* hub.c */
void run_host_tell(struct run_host         *host,
                   const struct tern_frame *frame); /* send a frame, if the host is in state HOST_RUNS */
void run_hub_tell_all(struct run_job *job, uint32_t kind, int rank, uint32_t value);
void run_host_close(struct run_host *host, enum run_host_state state);
bool run_hub_follows(struct run_job          *job,
                     const struct tern_frame *frame); /* whether the frame is valid after the last state of its rank */
bool run_hub_input_credit(struct run_job *job, size_t bytes); /* returns false if the credit exceeds the bytes sent */

/* hear.c: receive and handle the frames of a host, and detect the loss of the host. */
void run_host_listen(struct run_job *job, struct run_host *host);

/* agent.c: start the agent for a host; read its standard error. */
bool run_agent_start(struct run_job *job, struct run_host *host, int *status);
void run_agent_listen(struct run_job *job, struct run_host *host);
/* Describe how the agent ended, for a message. */
void run_agent_text(const struct run_job *job, const struct run_host *host, char *text, size_t size);

#endif

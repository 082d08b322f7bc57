/* hosts.h: ternrun on several hosts. The ternrun that the user started is the head; the ternrun on each host is a node.
 *
 * For each host, the head starts `agent... HOST ternrun --node`, whose standard input and output are the channel
 * (boot/frame_io.h) between head and node. A node runs its part of the ranks like any ternrun, but sends every message
 * for the user to the head. The head is the hub of the relay (boot/relay.h). If there are many hosts, the head starts
 * only some of the nodes; these start the others and pass their frames on (tree.c, branch.c).
 */
#ifndef TERNRUN_HOSTS_H
#define TERNRUN_HOSTS_H

#include "../hostlist/hostlist.h"
#include "boot/frame_io.h"
#include "boot/relay.h"
#include "ternrun.h"

/* ---- a node and its head ---- */

/* The start order: what the hosts are to start. It is sent as the body of START. */
struct run_order {
    uint64_t            job; /* random identifier of the job */
    int                 hosts;
    const int          *count; /* [hosts] number of ranks on each host */
    int                 on_failure, binding, cores_per_rank;
    double              grace;
    bool                verbose, show_binding;
    unsigned            terminals;
    struct winsize      window;
    const char         *cpu_list, *directory;
    const char         *prefix, *tool, *tool_ranks; /* as in struct run_config; "": none */
    char              **environment;                /* terminated by NULL */
    struct run_program *program;                    /* [programs] whose ranks add up to those of the hosts */
    int                 programs;
    void               *store; /* after decoding: the memory that holds the texts */
};

/* order.c: run_order_encode returns allocated bytes, or NULL if there is no memory. run_order_decode copies the bytes
 * and returns false if they are invalid. */
unsigned char *run_order_encode(const struct run_order *order, size_t *len);
bool           run_order_decode(const unsigned char *bytes, size_t len, struct run_order *order);
void           run_order_free(struct run_order *order);
/* Read a frame SIGNAL. Returns false if ternrun sends no such signal, or if the body is not that of the signal. window
 * is set only for SIGWINCH. */
bool           run_order_read_signal(const struct tern_frame *frame, int *signal, struct winsize *window);
/* Return whether an environment variable belongs to a host and is not sent to other hosts. */
bool           run_order_stays(const char *variable);

struct run_branch;

/* node_frames.c: the connection from a node to its head. */
struct run_up {
    struct run_process   process;
    struct tern_frame_io channel;
    struct run_branch   *branch;  /* the hosts behind this node; NULL: there are none */
    int                  to;      /* the host that the next frame of the head is for; -1: no frame HOST precedes it */
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
void   run_up_relay(struct run_up *up, int host, const struct tern_frame *frame); /* send a frame of another host */

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
    int                  index;  /* of this host among the hosts of the job */
    int                  parent; /* the host that calls this one; -1: the head */
    int                  end;    /* the hosts from index + 1 to end - 1 are behind this one */
    struct run_host     *way;    /* head: the host that the head itself calls, and which leads to this one */
    int                  from;   /* the host that its next frame comes from; 0: no frame HOST precedes it */
    enum run_host_state  state;
    struct tern_frame_io channel;
    pid_t                agent;     /* also its process group; 0: none, or already reaped */
    int                  ended;     /* wait status of an agent that was reaped */
    bool                 has_asked; /* the agent wanted to use the terminal, and was killed */
    int                  err;       /* standard error of the agent; -1: at end of file */
    char                 line[512], last[512];
    size_t               line_len;
    int                  asked;        /* the last signal sent to the host with END */
    int64_t              lost_at;      /* the channel is closed: end of the wait for the agent's exit status */
    bool                 is_senseless; /* the host sent an invalid frame */
    uint32_t             about;        /* rank in the invalid frame */
};

/* hosts.c: make the list the hosts of the job. The list is empty afterwards. Returns false on error. */
bool run_hosts_take(const struct host_refusal *refusal, struct host_list *list, struct run_config *config);
/* Decide how many ranks each host gets, and number the ranks. ranks is the value of -n, or 0. Returns false on
 * error. */
bool run_hosts_place(const struct host_refusal *refusal, int ranks, struct run_config *config);

/* schedule.c: if ternrun runs in a job of Slurm or PBS, take its hosts and, without -n, its number of ranks, and say
 * so. Returns false on error. */
bool run_schedule_take(const struct host_refusal *refusal, struct run_config *config);

/* hosts.c: read the text of --hosts. ranks is the value of -n, or 0. Returns false on error; why is then the message
 * for the user. */
bool run_hosts_read(const char *text, int ranks, struct run_config *config, char *why, size_t size);
void run_hosts_free(struct run_config *config);

/* hub.c */
void run_host_tell(struct run_host         *host,
                   const struct tern_frame *frame); /* send a frame, if the host is in state HOST_RUNS */
/* Send a frame to all hosts in state HOST_RUNS, except to the host that it comes from; NULL: none. */
void run_hub_forward(struct run_job *job, const struct run_host *from, const struct tern_frame *frame);
void run_hub_tell_all(struct run_job *job, uint32_t kind, int rank, uint32_t value);
void run_host_close(struct run_host *host, enum run_host_state state);
bool run_hub_follows(struct run_job          *job,
                     const struct tern_frame *frame); /* whether the frame is valid after the last state of its rank */
void run_hub_trace(struct run_job *job, int rank);    /* ask the host of a rank for its backtrace */
bool run_hub_input_credit(struct run_job *job, size_t bytes); /* returns false if the credit exceeds the bytes sent */

/* Send a frame to a host and to no other, whatever its state is. */
void run_host_send(struct run_host *host, const struct tern_frame *frame);
void run_hub_branch(struct run_job *job, struct run_host *host); /* order a host to call the hosts behind it */

/* head_receive.c: receive and handle the frames of a host that the head itself calls, and of the hosts behind it.
 * Detect the loss of a host. */
void run_host_listen(struct run_job *job, struct run_host *host);

/* ---- calling a host ---- */

/* How a connection to a host ended. */
enum run_loss {
    RUN_LOSS_CLOSED,     /* the channel or the agent ended; the text tells how */
    RUN_LOSS_FOREIGN,    /* the host sent something else than frames; the text is the beginning of it */
    RUN_LOSS_NOT_CALLED, /* the agent could not be started; the text is the whole message */
};

/* What every call of a host needs. */
struct run_caller {
    const char               *agent;   /* the command of --agent */
    const char               *ternrun; /* the path of ternrun */
    const struct run_process *process;
};

/* agent.c: start the agent for a host. Returns 0, or the exit status for the failure; why is then the reason. */
int  run_agent_start(const struct run_caller *caller, struct run_host *host, char *why, size_t size);
bool run_agent_find_self(char *path, size_t size); /* write the path of this ternrun */

/* Note what waitpid reports about the agent of a host: it has ended, or it has stopped. */
void run_agent_waited(struct run_host *host, int status);

typedef void  run_agent_line(void *arg, struct run_host *host);
/* Read the agent's standard error. handle is called for each line, which is then host->last. */
void          run_agent_listen(struct run_host *host, run_agent_line *handle, void *arg);
/* Return whether the connection to a host has ended, and all is known about its end. */
bool          run_agent_lost(struct run_host *host);
/* Describe how the connection to a host ended, for a message. */
enum run_loss run_agent_loss(const char *agent, const struct run_host *host, char *text, size_t size);

/* ---- the tree of hosts ---- */

#define RUN_FANOUT 32 /* the default of --fanout */

/* The hosts behind a node. It is sent as the body of BRANCH. */
struct run_branch_order {
    int         node, end; /* the receiver, and the end of the hosts behind it */
    int         fanout;    /* number of hosts that one ternrun calls */
    const char *agent, *ternrun;
    char      **name;  /* [end - node - 1] terminated by NULL */
    void       *store; /* after decoding: the memory that holds the texts */
};

/* order.c: run_branch_encode returns allocated bytes, or NULL if there is no memory. run_branch_decode copies the bytes
 * and returns false if they are invalid. run_branch_order_free frees what decoding has allocated. */
unsigned char *run_branch_encode(const struct run_branch_order *order, size_t *len);
bool           run_branch_decode(const unsigned char *bytes, size_t len, struct run_branch_order *order);
void           run_branch_order_free(struct run_branch_order *order);

/* tree.c: decide which host calls which. The hosts from first to end - 1 are divided into at most fanout parts; the
 * first host of a part is called, and the others are behind it. Returns the end of the part that begins at host at. */
int  run_tree_part(int first, int end, int fanout, int at);
void run_tree_plan(struct run_config *config); /* set parent, end and way of each host */
/* Write the names of the hosts behind a host, such as "b, c and 3 more". */
void run_tree_behind(const struct run_config *config, const struct run_host *host, char *text, size_t size);

/* branch.c: the hosts behind a node. Functions with a result accept an up of NULL, or without a branch. */
bool run_branch_open(struct run_up *up, const struct tern_frame *frame); /* call the hosts; false: invalid frame */
void run_branch_close(struct run_up *up);
int  run_branch_count(const struct run_up *up); /* number of hosts that this node calls */
void run_branch_started(struct run_up *up);     /* the start order was received: it tells where the ranks are */

enum run_route { RUN_ROUTE_HERE, RUN_ROUTE_PASSED, RUN_ROUTE_WRONG };
/* Pass a frame of the head on to the hosts for which it is intended. Returns whether it is intended for this node,
 * too. */
enum run_route run_branch_route(struct run_up *up, const struct tern_frame *frame);
bool           run_branch_cut(struct run_up *up, uint32_t host); /* returns false if there is no such host */
size_t         run_branch_poll(const struct run_up *up, struct pollfd *fds);
void           run_branch_serve(struct run_up *up);
bool           run_branch_owns(const struct run_up *up, pid_t pid); /* whether the process is an agent of the branch */
void           run_branch_reap(struct run_up *up);
int64_t        run_branch_deadline(const struct run_up *up);
/* While no job runs that does this: wait for an event, receive frames, and serve the branch. Returns false if this
 * process was asked to end. */
bool           run_branch_step(struct run_up *up);
void           run_branch_drop(struct run_up *up);   /* the head is gone: close the connections */
void           run_branch_finish(struct run_up *up); /* pass frames on until the hosts behind this node are done */

#endif

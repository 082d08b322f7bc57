/* doctor.h: the declarations of tern-info --doctor, which looks for the usual faults of a machine or a cluster.
 *
 * tern-info starts itself on every host, through the agent that ternrun would use, with the option --doctor-node. Both
 * sides exchange lines of text over the standard input and output of the agent:
 *
 *   from the host   tern-doctor VERSION LAYOUT         the greeting
 *   to the host     set NAME=VALUE                     a variable for the environment
 *                   agent COMMAND                      the agent, for `reach`
 *                   facts RANKS ALL SECONDS            check this machine for RANKS of the ALL ranks of a job
 *                   listen INDEX                       open a port, and answer there as host INDEX
 *                   connect INDEX ADDRESS PORT         with `go`: connect to the port of host INDEX
 *                   reach INDEX NAME                   with `go`: call host INDEX through the agent
 *                   resolve INDEX NAME                 with `go`: look up the address of host INDEX
 *                   go SECONDS                         do all this at the same time
 *   from the host   fact KEY VALUE
 *                   finding LEVEL \t CHECK \t REMEDY \t TEXT
 *                   result KIND INDEX TEXT             TEXT is "ok", or what is wrong
 *                   done                               the command is finished: facts, listen, go
 *
 * Every wait is bounded on both sides. A host ends when its standard input is closed.
 */
#ifndef TERN_DOCTOR_H
#define TERN_DOCTOR_H

#include <limits.h>

#include "../hostlist/hostlist.h"
#include "boot/node.h"
#include "info.h"

#define DOCTOR_WORDS 64 /* most words of an agent */
#define DOCTOR_NAME HOST_NAME_BYTES
#define DOCTOR_LINE 4096 /* most bytes of a line */
#define DOCTOR_HELLO "tern-doctor "

/* NOTE: everything works, but not as well as it could. FAULT: a job would fail. */
enum doctor_level { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_FAULT };

struct doctor_finding {
    enum doctor_level level;
    int               host; /* its index; -1: between hosts */
    char              check[40], remedy[512], text[512];
};

struct doctor_list {
    struct doctor_finding *items;
    size_t                 count, room;
};

/* Add a finding. remedy says what the user can do; "": nothing needs to be done. */
void doctor_find(struct doctor_list *list, int host, enum doctor_level level, const char *check, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The facts that a host reports about itself, in addition to findings. */
struct doctor_facts {
    char version[32], layout[16];
    char machine[64];               /* architecture */
    char network[TERN_NODE_TEXT];   /* equal texts: the hosts have the same interfaces */
    char provider[48], address[64]; /* of the network that a job would use; "": none */
    char problem[256];              /* why there is none */
    char name[256];                 /* what its own name resolves to: "fine ...", "loopback ..." or "!..." */
    char port[16];
    char clock[32]; /* seconds since 1970 */
};

/* The job for which a machine is checked. */
struct doctor_job {
    int    ranks, all; /* on this machine, and on all; ranks is 0 if not given, which means a rank for each core */
    bool   several;    /* on several hosts */
    double seconds;    /* for each step */
};

/* checks.c: collect the facts of this machine; check it for a job. */
void doctor_facts_collect(struct doctor_facts *facts, double seconds, bool watch_input);
void doctor_machine(struct doctor_list *list, const struct doctor_job *job, const struct doctor_facts *facts);
/* Print what a name resolves to, for a task: "fine ADDRESS", "loopback ADDRESS" or "!REASON". */
void doctor_print_lookup(const void *name);
/* Report the options whose values in the environment are refused. */
void doctor_options(struct doctor_list *list, int host);

/* agent.c: the command that reaches a host. */
struct doctor_command {
    char *word[DOCTOR_WORDS + 4];
    char  words[DOCTOR_LINE], name[DOCTOR_NAME], path[4 * PATH_MAX + 3];
};
/* Make the command that runs tern-info on a host, with one option. Returns false if the agent has too many words. */
bool        doctor_command(struct doctor_command *command, const char *agent, const char *host, const char *option);
/* Return whether the agent is ssh or rsh, which reach hosts by their names and have a shell read the command. */
bool        doctor_uses_shell(const char *agent);
/* Return whether the agent asks a question, according to the text that it has printed. */
bool        doctor_asks(const char *text);
/* Return what to do about the message of an agent that failed. */
const char *doctor_remedy(const char *text);

/* A host of the list. */
struct doctor_host {
    char                name[DOCTOR_NAME];
    int                 ranks; /* 0: not given */
    struct doctor_facts facts;
    pid_t               pid; /* of the agent; 0: none */
    int                 in, out, err;
    bool                is_greeted, is_waiting, is_failed;
    int64_t             asked_at; /* when it was asked for its facts */
    double              behind;   /* how far its clock is behind the clock of this machine, in seconds */
    double              doubt;    /* the uncertainty of behind, in seconds */
    char                line[DOCTOR_LINE], said[300]; /* the incomplete line; the last line on standard error */
    size_t              line_len, said_len;
    bool                said_ended;
    char                why[600];
};

/* hostlist.c: the hosts. */
struct doctor_hosts {
    struct doctor_host *host;
    int                 count;
    const char         *source;  /* the origin of the list, such as "--hosts" */
    bool                is_here; /* the list is that of a scheduler, and contains only this machine */
};
/* Read the names, as in ternrun --hosts. Returns false after writing the reason. */
bool doctor_hosts_read(struct doctor_hosts *hosts, const char *text, char *why, size_t size);
/* Take the hosts of a scheduler, if this process runs in one of its jobs. Returns false if they cannot be read. */
bool doctor_hosts_scheduled(struct doctor_hosts *hosts, char *why, size_t size);

struct doctor {
    const char         *agent;
    double              seconds;
    struct doctor_hosts hosts;
    struct doctor_list  list;
    /* [hosts * hosts] the result of host i for host j, for each kind of trial; NULL: not tried */
    char              **result[3];
};

enum doctor_kind { DOCTOR_CONNECT, DOCTOR_REACH, DOCTOR_RESOLVE };
extern const char *const doctor_kind_name[3];

/* call.c: call the hosts and exchange lines with them. */
void doctor_call_all(struct doctor *d);
void doctor_ask(struct doctor_host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Read until each host that is asked has answered. A host that has not answered after so many seconds has failed. */
void doctor_listen(struct doctor *d, double seconds);
void doctor_end_all(struct doctor *d);

/* between.c: the checks that need several hosts. */
void doctor_between(struct doctor *d);

/* node.c: run as tern-info --doctor-node on a host. Returns the exit status. */
int doctor_node(void);

/* doctor.c: run tern-info --doctor. hosts and agent may be NULL. Returns the exit status. */
int doctor_run(const char *hosts, const char *agent, double seconds, bool json);

#endif

/* hub.c: the crew of a job whose ranks run on several hosts.
 *
 * The head starts the agents of all hosts at the same time, or those of the first hosts of the tree (tree.c), and
 * starts no rank before all hosts have answered. From then on the head is the hub: it receives the frames of each host,
 * keeps count of the ranks, and forwards changes to the other hosts in the order in which they arrived. Hosts that
 * another host calls have the same states here as those that the head calls. Only the frames take another way: those
 * for one host follow a frame HOST, and those for all hosts are passed on by the hosts themselves.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "hosts.h"

#define RETRY_NS (500 * NS_PER_MS) /* between checks whether ternrun is in the foreground again */
#define FLUSH_NS NS_PER_SECOND
#define INPUT_CHUNK 16384

struct run_hub {
    char                    ternrun[PATH_MAX];
    bool                    is_started; /* the start order was sent to the hosts */
    bool                    is_read;    /* standard input is at end of file */
    size_t                  input;      /* credit: input bytes that the host of rank 0 can take */
    int64_t                 retry_at;   /* standard input must not be read before this time */
    struct tern_relay_state state[];    /* [ranks] the last state that their hosts reported */
};

/* ---- sending to hosts ---- */

void run_host_send(struct run_host *host, const struct tern_frame *frame)
{
    struct tern_frame_io *channel = &host->way->channel;

    if (host->way->end > host->way->index + 1) /* otherwise no other host gets the frame */
        tern_boot_frame_io_send(channel,
                                &(struct tern_frame){ .kind = TERN_FRAME_HOST, .value = (uint32_t)host->index });
    tern_boot_frame_io_send(channel, frame);
}

void run_host_tell(struct run_host *host, const struct tern_frame *frame)
{
    if (host->state == HOST_RUNS)
        run_host_send(host, frame);
}

void run_hub_forward(struct run_job *job, const struct run_host *from, const struct tern_frame *frame)
{
    for (int i = 0; i < job->config->hosts; i = job->config->host[i].end) {
        struct run_host *host = &job->config->host[i];

        if (host->state == HOST_RUNS && (host != from || host->end > host->index + 1))
            tern_boot_frame_io_send(&host->channel, frame);
    }
}

void run_hub_tell_all(struct run_job *job, uint32_t kind, int rank, uint32_t value)
{
    run_hub_forward(job, NULL, &(struct tern_frame){ .kind = kind, .rank = (uint32_t)rank, .value = value });
}

void run_hub_trace(struct run_job *job, int rank)
{
    struct tern_frame frame = { .kind = TERN_FRAME_TRACE, .rank = (uint32_t)rank };

    for (int i = 0; i < job->config->hosts; i++) {
        struct run_host *host = &job->config->host[i];

        if (rank >= host->first && rank < host->first + host->ranks)
            run_host_tell(host, &frame);
    }
}

void run_host_close(struct run_host *host, enum run_host_state state)
{
    host->state = state;
    tern_boot_frame_io_close(&host->channel);
}

/* Return whether -x names the variable. */
static bool is_extra(const struct run_config *config, const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (char **extra = config->extra; extra != NULL && *extra != NULL; extra++)
        if (strncmp(*extra, variable, len) == 0 && (*extra)[len] == '=')
            return true;
    return false;
}

/* Return the part of ternrun's environment that is sent to the ranks: an allocated list of pointers into environ, or
 * NULL. */
static char **choose_environment(const struct run_config *config)
{
    size_t count = 0, kept = 0;
    char **chosen;

    while (environ[count] != NULL)
        count++;
    chosen = calloc(count + 1, sizeof(*chosen));
    for (size_t i = 0; i < count && chosen != NULL; i++)
        if (!run_order_stays(environ[i]) || is_extra(config, environ[i]))
            chosen[kept++] = environ[i];
    return chosen;
}

static unsigned char *write_order(struct run_job *job, size_t *len)
{
    const struct run_config *config = job->config;
    struct run_order         order = { .hosts = config->hosts,
                                       .on_failure = config->on_failure,
                                       .binding = (int)config->binding,
                                       .cpu_list = config->cpu_list,
                                       .cores_per_rank = config->cores_per_rank,
                                       .show_binding = config->show_binding,
                                       .grace = config->grace,
                                       .verbose = config->verbose,
                                       .terminals = job->terminals,
                                       .window = job->window,
                                       .prefix = config->prefix,
                                       .tool = config->tool,
                                       .tool_ranks = config->tool_ranks,
                                       .program = config->program,
                                       .programs = config->programs };
    int                     *count = calloc((size_t)config->hosts, sizeof(*count));
    char                    *directory = getcwd(NULL, 0);
    unsigned char           *bytes = NULL;

    order.environment = choose_environment(config);
    order.directory = directory;
    for (int i = 0; i < config->hosts && count != NULL; i++)
        count[i] = config->host[i].ranks;
    order.count = count;
    while (order.job == 0 && getrandom(&order.job, sizeof(order.job), 0) < 0 && errno == EINTR)
        ;
    if (count != NULL && directory != NULL && order.environment != NULL && order.job != 0)
        bytes = run_order_encode(&order, len);
    free(count);
    free(directory);
    free(order.environment);
    return bytes;
}

/* All hosts have answered: send them the start order. */
static void start_all(struct run_job *job)
{
    size_t         len = 0;
    unsigned char *bytes = write_order(job, &len);

    job->hub->is_started = true;
    if (bytes == NULL || len > TERN_FRAME_BODY_START) {
        run_say("cannot tell the hosts what to start: %s",
                bytes == NULL ? strerror(errno) : "the environment and the arguments are too long");
        run_job_end(job, SIGTERM, EXIT_TROUBLE);
        free(bytes);
        return;
    }
    for (int i = 0; i < job->config->hosts; i++) {
        struct run_host *host = &job->config->host[i];

        host->state = HOST_RUNS;
        if (host->way == host) /* it passes the order on to the hosts behind it */
            tern_boot_frame_io_send(&host->channel, &(struct tern_frame){ .kind = TERN_FRAME_START,
                                                                          .value = (uint32_t)i,
                                                                          .len = (uint32_t)len,
                                                                          .body = bytes });
    }
    free(bytes);
    for (int r = 0; r < job->config->ranks; r++)
        job->rank[r] = (struct run_rank){ .runs = true, .start = tern_base_now() };
    job->started = job->running = job->config->ranks;
}

void run_hub_branch(struct run_job *job, struct run_host *host)
{
    struct run_branch_order order = { .node = host->index,
                                      .end = host->end,
                                      .fanout = job->config->fanout,
                                      .agent = job->config->agent,
                                      .ternrun = job->hub->ternrun };
    size_t                  len, count = (size_t)(host->end - host->index - 1);
    unsigned char          *bytes = NULL;

    order.name = calloc(count + 1, sizeof(*order.name));
    for (size_t i = 0; i < count && order.name != NULL; i++) {
        order.name[i] = host[1 + i].name;
        if (job->config->verbose && host[1 + i].parent == host->index)
            run_say("host %s: ranks %d to %d, called by host %s", host[1 + i].name, host[1 + i].first,
                    host[1 + i].first + host[1 + i].ranks - 1, host->name);
    }
    if (order.name != NULL)
        bytes = run_branch_encode(&order, &len);
    if (bytes != NULL && len <= TERN_FRAME_BODY_START) {
        run_host_send(host, &(struct tern_frame){ .kind = TERN_FRAME_BRANCH, .len = (uint32_t)len, .body = bytes });
    } else {
        run_say("no memory for the hosts behind host %s", host->name);
        run_job_end(job, SIGTERM, EXIT_TROUBLE);
    }
    free(bytes);
    free(order.name);
}

bool run_hub_follows(struct run_job *job, const struct tern_frame *frame)
{
    return tern_boot_relay_follows(&job->hub->state[frame->rank], frame,
                                   job->config->on_failure == TERN_ON_FAILURE_RETURN);
}

/* ---- standard input ---- */

bool run_hub_input_credit(struct run_job *job, size_t bytes)
{
    if (bytes > INPUT_BYTES - job->hub->input)
        return false;
    job->hub->input += bytes;
    return true;
}

/* Return whether standard input is to be read now. */
static bool input_is_due(const struct run_job *job)
{
    const struct run_hub *hub = job->hub;

    return hub->is_started && !hub->is_read && hub->input > 0 && job->config->host[0].state == HOST_RUNS &&
           tern_base_now() >= hub->retry_at;
}

static void forward_input(struct run_job *job)
{
    struct run_hub *hub = job->hub;
    struct pollfd   ready = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned char   data[INPUT_CHUNK];
    ssize_t         got;

    if (!input_is_due(job) || poll(&ready, 1, 0) <= 0)
        return;
    if (!run_input_may_read()) {
        hub->retry_at = tern_base_now() + RETRY_NS;
        return;
    }
    got = read(STDIN_FILENO, data, hub->input < sizeof(data) ? hub->input : sizeof(data));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    hub->is_read = got <= 0;
    got = got < 0 ? 0 : got;
    hub->input -= (size_t)got;
    run_host_tell(&job->config->host[0],
                  &(struct tern_frame){ .kind = TERN_FRAME_INPUT, .len = (uint32_t)got, .body = data });
}

/* ---- the crew ---- */

static size_t hosts_files(const struct run_config *config)
{
    size_t called = 0;

    for (int i = 0; i < config->hosts; i = config->host[i].end)
        called++;
    return 3 * called; /* the two pipes of each channel, and standard error */
}

static bool hosts_open(struct run_job *job)
{
    job->hub = calloc(1, sizeof(*job->hub) + (size_t)job->config->ranks * sizeof(job->hub->state[0]));
    if (job->hub == NULL) {
        run_say("no memory for %d hosts", job->config->hosts);
        return false;
    }
    if (!run_agent_find_self(job->hub->ternrun, sizeof(job->hub->ternrun))) {
        run_say("cannot find out where ternrun is: %s", strerror(errno));
        return false;
    }
    job->hub->input = INPUT_BYTES;
    for (int r = 0; r < job->config->ranks; r++)
        for (int which = STDOUT_FILENO; which <= STDERR_FILENO; which++)
            run_output_add(&job->output, r, which, -1);
    run_leftover_note_own();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return true;
}

static void hosts_start(struct run_job *job)
{
    struct run_caller caller = { job->config->agent, job->hub->ternrun, &job->process };
    char              why[600];
    int               status;

    for (int i = 0; i < job->config->hosts && job->phase == PHASE_RUN; i = job->config->host[i].end) {
        struct run_host *host = &job->config->host[i];

        status = run_agent_start(&caller, host, why, sizeof(why));
        if (status != 0) {
            run_say("%s", why);
            run_job_end(job, SIGTERM, status);
            host->state = HOST_GONE;
        } else if (job->config->verbose) {
            run_say("host %s: ranks %d to %d, called by process %d", host->name, host->first,
                    host->first + host->ranks - 1, (int)host->agent);
        }
    }
}

static size_t hosts_poll(struct run_job *job, struct pollfd *fds)
{
    size_t count = 0;

    for (int i = 0; i < job->config->hosts; i++) {
        const struct run_host *host = &job->config->host[i];

        count += tern_boot_frame_io_poll(&host->channel, fds + count);
        if (host->err >= 0)
            fds[count++] = (struct pollfd){ .fd = host->err, .events = POLLIN };
    }
    if (input_is_due(job))
        fds[count++] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
    return count;
}

static struct run_host *host_of_agent(const struct run_job *job, pid_t pid)
{
    for (int i = 0; i < job->config->hosts; i++)
        if (job->config->host[i].agent == pid)
            return &job->config->host[i];
    return NULL;
}

/* Reap agents that have ended and orphans that were reparented to ternrun. */
static void reap(struct run_job *job)
{
    pid_t pid;
    int   status;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct run_host *host = host_of_agent(job, pid);

        if (host != NULL)
            run_agent_waited(host, status);
    }
}

static bool all_ready(const struct run_job *job)
{
    for (int i = 0; i < job->config->hosts; i++)
        if (job->config->host[i].state != HOST_READY)
            return false;
    return true;
}

/* Return credit to the hosts for the output that was consumed. */
static void give_credit(struct run_job *job)
{
    int i = 0;

    for (int k = 0; k < job->output.streams; k++) {
        struct run_stream *stream = &job->output.stream[k];
        unsigned char      which = (unsigned char)stream->which;
        size_t             taken = run_output_taken(stream);

        while (stream->rank >= job->config->host[i].first + job->config->host[i].ranks)
            i++;
        if (taken > 0)
            run_host_tell(&job->config->host[i], &(struct tern_frame){ .kind = TERN_FRAME_CREDIT,
                                                                       .rank = (uint32_t)stream->rank,
                                                                       .value = (uint32_t)taken,
                                                                       .len = 1,
                                                                       .body = &which });
    }
}

static void hosts_serve(struct run_job *job)
{
    reap(job);
    for (int i = 0; i < job->config->hosts; i = job->config->host[i].end)
        run_host_listen(job, &job->config->host[i]);
    if (!job->hub->is_started && job->phase == PHASE_RUN && all_ready(job))
        start_all(job);
    forward_input(job);
    run_output_serve(&job->output);
    give_credit(job);
}

static int64_t hosts_deadline(const struct run_job *job)
{
    int64_t next = job->hub->retry_at > tern_base_now() ? job->hub->retry_at : NEVER;

    for (int i = 0; i < job->config->hosts; i++) {
        const struct run_host *host = &job->config->host[i];

        if (host->lost_at != 0 && host->state < HOST_DONE && host->lost_at < next)
            next = host->lost_at;
    }
    return next;
}

static bool is_agent(const struct run_job *job, pid_t pid)
{
    return host_of_agent(job, pid) != NULL;
}

static bool hosts_any(struct run_job *job)
{
    for (int i = 0; i < job->config->hosts; i++)
        if (job->config->host[i].state < HOST_DONE || job->config->host[i].agent != 0)
            return true;
    return run_leftover_children(is_agent, job, 0);
}

/* Ask one host, and those behind it, to end their ranks. A host that has not started any is closed. The agent of a host
 * that is done or gone gets the signal itself. */
static void end_host(struct run_host *host, int signal)
{
    if (host->state == HOST_RUNS) {
        if (host->way == host && host->asked != signal && host->asked != SIGKILL)
            tern_boot_frame_io_send(&host->channel,
                                    &(struct tern_frame){ .kind = TERN_FRAME_END, .value = (uint32_t)signal });
        host->asked = signal;
        return;
    }
    if (host->state < HOST_RUNS)
        run_host_close(host, HOST_GONE);
    if (host->agent != 0)
        kill(-host->agent, signal);
}

/* Wait until the frames for the hosts are written, for at most FLUSH_NS: ternrun is about to stop. */
static void flush_hosts(struct run_job *job)
{
    int64_t until = tern_base_now() + FLUSH_NS;

    for (int i = 0; i < job->config->hosts; i++) {
        struct tern_frame_io *channel = &job->config->host[i].channel;

        while (channel->put.len > 0 && channel->state == TERN_FRAME_IO_UP && tern_base_now() < until) {
            poll(&(struct pollfd){ .fd = channel->out, .events = POLLOUT }, 1, 10);
            tern_boot_frame_io_flush(channel);
        }
    }
}

/* Pass a signal on to the ranks of all hosts. The frame of SIGWINCH contains the size of the window. */
static void pass_signal(struct run_job *job, int signal)
{
    unsigned char     body[RUN_WINDOW_BYTES];
    struct tern_frame frame = { .kind = TERN_FRAME_SIGNAL, .value = (uint32_t)signal, .body = body };

    tern_base_put_le(body, job->window.ws_row, 2);
    tern_base_put_le(body + 2, job->window.ws_col, 2);
    frame.len = signal == SIGWINCH ? sizeof(body) : 0;
    run_hub_forward(job, NULL, &frame);
    if (signal == SIGTSTP)
        flush_hosts(job);
}

static void hosts_signal(struct run_job *job, int signal)
{
    if (run_signals_passes(signal)) {
        pass_signal(job, signal);
        return;
    }
    for (int i = 0; i < job->config->hosts; i++)
        end_host(&job->config->host[i], signal);
    run_leftover_children(is_agent, job, signal);
}

static void hosts_abandon(struct run_job *job)
{
    for (int i = 0; i < job->config->hosts; i++) {
        struct run_host *host = &job->config->host[i];

        if (host->state < HOST_DONE)
            run_say("host %s has not reported that its ranks have ended; its processes end when it notices that "
                    "ternrun is gone",
                    host->name);
        if (host->agent != 0)
            kill(-host->agent, SIGKILL);
    }
}

static void hosts_close(struct run_job *job)
{
    for (int i = 0; i < job->config->hosts; i++) {
        tern_boot_frame_io_close(&job->config->host[i].channel);
        if (job->config->host[i].err >= 0)
            close(job->config->host[i].err);
    }
    free(job->hub);
}

const struct run_crew run_crew_hosts = {
    .files = hosts_files,
    .open = hosts_open,
    .start = hosts_start,
    .poll = hosts_poll,
    .serve = hosts_serve,
    .deadline = hosts_deadline,
    .any = hosts_any,
    .signal = hosts_signal,
    .abandon = hosts_abandon,
    .close = hosts_close,
};

/* node.c: ternrun --node, which ternrun --hosts starts on each host.
 *
 * A node sends HELLO with its version, receives the start order, and runs its ranks like any ternrun. The head may
 * order it to call other hosts first (branch.c). Standard input and output are used only as the channel to the head, or
 * to the node that called this one; the ranks never see them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/version.h>
#include <termios.h>
#include <unistd.h>

#include "base/options.h"
#include "hosts.h"

/* Move the channel from descriptors 0 and 1 to others, because a child or a library might use 0 and 1 by mistake. */
static bool open_channel(struct tern_frame_io *channel)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (in < 0 || out < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        return false;
    close(nothing);
    tern_boot_frame_io_open(channel, in, out);
    channel->takes_start = true;
    return true;
}

static void send_hello(struct tern_frame_io *channel)
{
    tern_boot_frame_io_send(channel, &(struct tern_frame){ .kind = TERN_FRAME_HELLO,
                                                           .value = TERN_SEGMENT_LAYOUT,
                                                           .len = sizeof(TERN_VERSION) - 1,
                                                           .body = (const unsigned char *)TERN_VERSION });
}

/* Handle a frame that arrives before the job of this node runs. Returns false if the frame is invalid. */
static bool handle_early(struct run_up *up, const struct tern_frame *frame)
{
    enum run_route route = run_branch_route(up, frame);

    if (route != RUN_ROUTE_HERE)
        return route == RUN_ROUTE_PASSED;
    switch (frame->kind) {
    case TERN_FRAME_BRANCH: return run_branch_open(up, frame);
    case TERN_FRAME_CUT: return run_branch_cut(up, frame->value);
    case TERN_FRAME_START:
        up->node = (int)frame->value;
        return run_order_decode(frame->body, frame->len, &up->order) && frame->value < (uint32_t)up->order.hosts;
    default: return false;
    }
}

/* Wait for the start order of the head, and call the hosts behind this node if the head says so. Returns false if the
 * channel ends, or an order is invalid, or this process is to end. */
static bool receive_order(struct run_up *up)
{
    struct tern_frame frame;

    for (;;) {
        while (tern_boot_frame_io_next(&up->channel, &frame)) {
            if (!handle_early(up, &frame))
                return false;
            if (up->order.store != NULL)
                return true;
        }
        if (up->channel.state != TERN_FRAME_IO_UP || !run_branch_step(up))
            return false;
    }
}

/* Return whether the list has a variable of the same name. */
static bool has_variable(char *const *list, const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (; *list != NULL; list++)
        if (strncmp(*list, variable, len) == 0 && (*list)[len] == '=')
            return true;
    return false;
}

/* Return the environment of the ranks, an allocated list: the variables that the head sent, and those that belong to
 * this host. Returns NULL if there is no memory. */
static char **merge_environment(char **given)
{
    size_t count = 0, own = 0;
    char **merged;

    while (given[count] != NULL)
        count++;
    while (environ[own] != NULL)
        own++;
    merged = calloc(count + own + 1, sizeof(*merged));
    if (merged == NULL)
        return NULL;
    memcpy(merged, given, count * sizeof(*merged));
    for (size_t i = 0; i < own; i++)
        if (run_order_stays(environ[i]) && !has_variable(given, environ[i]))
            merged[count++] = environ[i];
    return merged;
}

/* Run the job of the start order. */
static void run_ordered(struct run_up *up, struct run_config *config)
{
    struct run_plan *plan;
    char             text[512];
    int              status = EXIT_TROUBLE;

    if (chdir(up->order.directory) != 0) {
        snprintf(text, sizeof(text),
                 "cannot go to the directory %.300s: %s; start the job from one that every host has",
                 up->order.directory, strerror(errno));
        run_up_failed(up, EXIT_TROUBLE, text);
        return;
    }
    plan = run_bind_plan(config, &status);
    if (plan == NULL) {
        run_up_failed(up, status, ""); /* run_bind_plan has printed the reason */
        return;
    }
    status = run_job(config, plan, &run_crew_here, up);
    if (status != 0)
        run_up_failed(up, status, "");
    run_bind_free(plan);
}

/* Return the text, or NULL if it is empty. */
static const char *unless_empty(const char *text)
{
    return *text != '\0' ? text : NULL;
}

/* Run the job of the start order, and pass frames on until the hosts behind this node are done. */
static void obey(struct run_up *up)
{
    struct run_config config = { 0 };
    char             *none[] = { NULL };

    run_branch_started(up);
    run_output_say_to(up);
    tern_base_options_load(none); /* the head has checked Tern's options, and the ranks read them */
    config = (struct run_config){ .ranks = up->order.count[up->node],
                                  .branches = run_branch_count(up),
                                  .binding = (enum run_binding)up->order.binding,
                                  .cpu_list = up->order.cpu_list,
                                  .cores_per_rank = up->order.cores_per_rank,
                                  .show_binding = up->order.show_binding,
                                  .verbose = up->order.verbose,
                                  .grace = up->order.grace,
                                  .prefix = unless_empty(up->order.prefix),
                                  .tool = unless_empty(up->order.tool),
                                  .tool_ranks = up->order.tool_ranks,
                                  .on_failure = up->order.on_failure,
                                  .program = up->order.program,
                                  .programs = up->order.programs,
                                  .environment = merge_environment(up->order.environment) };
    tern_opt.on_failure = config.on_failure;
    if (config.environment != NULL)
        run_ordered(up, &config);
    else
        run_up_failed(up, EXIT_TROUBLE, "no memory for the environment of the ranks");
    run_branch_finish(up);
    run_up_done(up);
    free(config.environment);
}

static int serve_head(struct run_up *up)
{
    bool is_ordered;

    send_hello(&up->channel);
    is_ordered = receive_order(up);
    if (is_ordered)
        obey(up);
    run_branch_drop(up); /* without an order, the head reports the reason to the user, if it still can */
    run_branch_finish(up);
    return is_ordered ? 0 : EXIT_TROUBLE;
}

/* Return whether a descriptor is a terminal that changes bytes. srun --unbuffered provides a terminal that does not. */
static bool changes_output(int fd)
{
    struct termios mode;

    return tcgetattr(fd, &mode) == 0 && (mode.c_oflag & OPOST) != 0;
}

int run_node(void)
{
    struct run_up up = { .tell = { -1, -1 }, .to = -1 };
    int           status = EXIT_TROUBLE;

    if (isatty(STDIN_FILENO) || changes_output(STDOUT_FILENO)) {
        run_say("--node is for the ternrun that 'ternrun --hosts' starts on each host; see ternrun --help");
        return EXIT_USAGE;
    }
    run_leftover_note_own();
    if (!run_process_start(&up.process, 0))
        return EXIT_TROUBLE;
    if (open_channel(&up.channel))
        status = serve_head(&up);
    else
        run_say("cannot set up the way to the head: %s", strerror(errno));
    if (up.relay != NULL)
        tern_boot_relay_close(up.relay);
    run_branch_close(&up);
    tern_boot_frame_io_close(&up.channel);
    run_order_free(&up.order);
    return status;
}

/* node.c: ternrun --node, which ternrun --hosts starts on each host.
 *
 * A node sends HELLO with its version, receives the start order, and runs its ranks like any ternrun. Standard input
 * and output are used only as the channel to the head; the ranks never see them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/version.h>
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

/* Wait for the start order of the head. Returns false if the channel ends or the order is invalid. */
static bool receive_order(struct run_up *up)
{
    struct tern_frame frame;
    struct pollfd     fds[2];

    while (!tern_boot_frame_io_next(&up->channel, &frame)) {
        if (up->channel.state != TERN_FRAME_IO_UP)
            return false;
        poll(fds, tern_boot_frame_io_poll(&up->channel, fds), -1);
        tern_boot_frame_io_flush(&up->channel);
        tern_boot_frame_io_fill(&up->channel);
    }
    if (frame.kind != TERN_FRAME_START || !run_order_decode(frame.body, frame.len, &up->order))
        return false;
    up->node = (int)frame.value;
    return frame.value < (uint32_t)up->order.hosts;
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

static int serve_head(struct run_up *up)
{
    struct run_config config = { 0 };
    char             *none[] = { NULL };

    send_hello(&up->channel);
    if (!receive_order(up))
        return EXIT_TROUBLE; /* the head reports the reason to the user, if it still can */
    run_output_say_to(up);
    tern_base_options_load(none); /* the head has checked Tern's options, and the ranks read them */
    config = (struct run_config){ .ranks = up->order.count[up->node],
                                  .binding = (enum run_binding)up->order.binding,
                                  .cpu_list = up->order.cpu_list,
                                  .verbose = up->order.verbose,
                                  .grace = up->order.grace,
                                  .on_failure = up->order.on_failure,
                                  .program = up->order.program,
                                  .environment = merge_environment(up->order.environment) };
    tern_opt.on_failure = config.on_failure;
    if (config.environment != NULL)
        run_ordered(up, &config);
    else
        run_up_failed(up, EXIT_TROUBLE, "no memory for the environment of the ranks");
    run_up_done(up);
    free(config.environment);
    return 0;
}

int run_node(void)
{
    struct run_up up = { .tell = { -1, -1 } };
    int           status = EXIT_TROUBLE;

    if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) {
        run_say("--node is for the ternrun that 'ternrun --hosts' starts on each host; see ternrun --help");
        return EXIT_USAGE;
    }
    if (open_channel(&up.channel))
        status = serve_head(&up);
    else
        run_say("cannot set up the way to the head: %s", strerror(errno));
    if (up.relay != NULL)
        tern_boot_relay_close(up.relay);
    tern_boot_frame_io_close(&up.channel);
    run_order_free(&up.order);
    return status;
}

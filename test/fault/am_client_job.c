/* am_client_job.c: jobs whose clients of active messages go wrong; started by am_client.sh.
 *
 *   unknown, unknown-helped   rank 0 sends rank 1 a message with a handler that rank 1 has not registered
 *   stray       rank 0 sends rank 1 a message of a client that does not exist
 *   bare        rank 0 sends rank 1 a message of a client without the argument that names the client
 *   channel     rank 0 sends rank 1 a message of the default client on the channel of the helper thread
 *   foreign     rank 0 sends rank 1 a message of a client without by_helper on the channel of the helper thread
 *   create      the last rank dies while the others create a client
 *   use         the last rank floods the others with messages of a client, and dies
 *   helped      the same, with a client whose handlers the helper thread may run
 *   free        the last rank dies while the others free a client
 *   left        the last rank sends messages to ranks that make no progress, and dies; the client is freed before the
 *               messages are taken
 *
 * A survivor prints "survived R" if all promises to it held.
 */
#include <stdatomic.h>

#include "core/job.h"
#include "fault/fault_job.h"
#include "op/am/client.h"

#define COUNT 9u
#define ECHO 10u
#define ANSWER 11u
#define STRANGE 77u

static int              me, size, last;
static tern_am_client  *client, *other;
static _Atomic uint64_t counted, answers;

static void on_count(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    atomic_fetch_add(&counted, 1);
}

static void on_echo(const tern_am_event *event, void *user)
{
    (void)user;
    EXPECT(TERN_OK, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    atomic_fetch_add(&answers, 1);
}

static bool answered(void *want)
{
    return atomic_load(&answers) >= *(uint64_t *)want;
}

static bool gone(void *rank)
{
    return tern_peer_check(*(int *)rank) != TERN_OK;
}

static tern_status make(tern_am_client **out, bool by_helper)
{
    const tern_am_client_handler handlers[] = { { COUNT, on_count, NULL },
                                                { ECHO, on_echo, NULL },
                                                { ANSWER, on_answer, NULL } };

    return tern_am_client_create(
        TERN_WORLD, &TERN_AM_CLIENT_OPTS(.name = "tasks", .by_helper = by_helper, .handlers = handlers, .count = 3),
        out);
}

static void learn(void)
{
    EXPECT(TERN_OK, tern_wait_until(TERN_WORLD, gone, &last, tern_deadline_in(20)));
}

/* The survivors still use a client: each hears from every other. */
static void go_on(tern_am_client *used)
{
    uint64_t want = atomic_load(&answers);

    for (int i = 0; i < 100; i++)
        for (int rank = 0; rank < last; rank++, want++)
            EXPECT(TERN_OK, tern_am_client_short(used, TERN_WORLD, rank, ECHO, NULL, 0));
    EXPECT(TERN_OK, tern_wait_until(TERN_WORLD, answered, &want, tern_deadline_in(20)));
    EXPECT(TERN_ERR_PEER, tern_am_client_short(used, TERN_WORLD, last, ECHO, NULL, 0));
}

/* Send a message in the form in which it travels. */
static void send_raw(unsigned handler, unsigned channel, const uint32_t *args, unsigned nargs)
{
    EXPECT(TERN_OK, tern_core_ops_to(1)->msg->send_short(tern_core_link_to(1), 1, channel, wire_first(handler, nargs),
                                                         args, nargs));
}

static void run_refused(const char *how)
{
    const uint32_t none = 0x345605, foreign = tern_op_am_client_word(other, 1, COUNT);
    bool           helped = strcmp(how, "unknown-helped") == 0 || strcmp(how, "channel") == 0;

    EXPECT(TERN_OK, make(&client, helped || strcmp(how, "foreign") == 0));
    if (me == 0 && strncmp(how, "unknown", 7) == 0) {
        EXPECT(TERN_OK, tern_am_client_register(client, STRANGE, on_count, NULL));
        EXPECT(TERN_OK, tern_am_client_short(client, TERN_WORLD, 1, STRANGE, NULL, 0));
    } else if (me == 0 && strcmp(how, "stray") == 0) {
        send_raw(WIRE_AM_CLIENT, TERN_CHANNEL_REQUEST, &none, 1);
    } else if (me == 0 && strcmp(how, "bare") == 0) {
        send_raw(WIRE_AM_CLIENT, TERN_CHANNEL_REQUEST, NULL, 0);
    } else if (me == 0 && strcmp(how, "foreign") == 0) {
        send_raw(WIRE_AM_HELPED, TERN_CHANNEL_HELPER_REQUEST, &foreign, 1);
    } else if (me == 0) {
        send_raw(COUNT, TERN_CHANNEL_HELPER_REQUEST, NULL, 0);
    }
    for (;;)
        EXPECT(TERN_OK, tern_progress(TERN_WORLD)); /* until the job ends */
}

static void run_create(void)
{
    tern_am_client *half = NULL;

    if (me == last)
        fault_die();
    EXPECT(TERN_ERR_PEER, make(&half, true));
    REQUIRE(half == NULL);
}

static void run_use(bool helped)
{
    unsigned char data[512] = { 0 };
    tern_am       am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = COUNT, .payload = data);

    EXPECT(TERN_OK, make(&client, helped));
    if (me == last)
        for (uint64_t count = 0;; count++) {
            for (int rank = 0; rank < last; rank++) {
                am.len = count % sizeof(data);
                (void)tern_am_client_request(client, TERN_WORLD, rank, &am);
            }
            if (count == 3000)
                fault_die();
        }
    learn();
    go_on(client);
    EXPECT(TERN_OK, tern_am_client_free(client));
}

static void run_free(void)
{
    EXPECT(TERN_OK, make(&client, false));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (me == last)
        fault_die();
    EXPECT(TERN_OK, tern_am_client_free(client));
    EXPECT(TERN_ERR_STATE, tern_am_client_short(client, TERN_WORLD, 0, ECHO, NULL, 0));
}

static void run_left(void)
{
    EXPECT(TERN_OK, make(&client, false));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (me == last) {
        for (int rank = 0; rank < last; rank++)
            EXPECT(TERN_OK, tern_am_client_short(client, TERN_WORLD, rank, COUNT, NULL, 0));
        fault_die();
    }
    while (tern_peer_check(last) == TERN_OK) /* makes no progress */
        usleep(1000);
    EXPECT(TERN_OK, tern_am_client_free(client));
    for (int i = 0; i < 1000; i++)
        EXPECT(TERN_OK, tern_progress(TERN_WORLD));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    EXPECT(TERN_OK, tern_am_register(COUNT, on_count, NULL));
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    last = size - 1;
    EXPECT(TERN_OK, make(&other, false));
    if (strcmp(how, "create") == 0)
        run_create();
    else if (strcmp(how, "use") == 0 || strcmp(how, "helped") == 0)
        run_use(strcmp(how, "helped") == 0);
    else if (strcmp(how, "free") == 0)
        run_free();
    else if (strcmp(how, "left") == 0)
        run_left();
    else
        run_refused(how);
    go_on(other);
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

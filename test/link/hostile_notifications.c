/* hostile_notifications.c: notifications that a hostile peer writes into its notification queue, up to the requests
 * that match them.
 *
 * Promise: a malformed notification ends the job, whether it is received by normal delivery or by the fast path of a
 * wait that expects a notification like the last one. Nothing outside the region is written, and nothing inside it but
 * the inline payload of a valid notification.
 *
 * One process is both ranks of two, and has the op and core layers of rank 0. Each case runs in its own process.
 */
#include "link_test.h"

#include "base/biased_lock.h"
#include "core/message.h"
#include "link/shm/shm.h"
#include "op/notify/expected.h"
#include "op/upcalls.h"
#include "op/wire.h"
#include "serve_world.h"

#define NAME 5u
#define SIZE 4096u
#define TAG 7u
#define BACKLOG (3 * TERN_NQ_PRIMARY_MAX) /* notifications */

struct scene {
    struct rank                 r[2];
    struct tern_inject_notify  *port;   /* the inject handle of rank 1 to rank 0 */
    unsigned char              *memory; /* the region: SIZE bytes between two pages that cannot be touched */
    struct tern_notify_request *request;
};

static struct tern_link_part parts[SERVE_RANKS];
static struct tern_region    region = { .part = parts, .name = NAME };
static struct tern_ctx       ctx;
static jmp_buf               refused;
static volatile bool         delivering;
static unsigned              shortly; /* number of notifications received by the fast path */

/* A refused notification ends the job. In this test it only ends the delivery. */
void _Exit(int status)
{
    if (delivering)
        longjmp(refused, 1);
    _exit(status);
}

static void scene_set(struct scene *s)
{
    struct tern_boot *boot = &s->r[0].boot;
    unsigned char    *pages = mmap(NULL, 3 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT((void *)pages != MAP_FAILED && mprotect(pages + SIZE, SIZE, PROT_READ | PROT_WRITE) == 0);
    s->memory = pages + SIZE;
    memset(s->memory, 0x5a, SIZE);
    tern_base_bias_claim(); /* the fast path needs the bias: a single thread */
    serve_world_open();
    parts[0].addr = (uint64_t)(uintptr_t)s->memory;
    parts[0].base = s->memory;
    parts[0].size = SIZE;
    region.team = &tern_job.world;
    parts[0].region = region.name;
    tern_base_list_push(&tern_job.regions, &region.node);
    EXPECT(tern_core_message_open() == TERN_OK);
    tern_op_notify_open();
    EXPECT(tern_op_notify_request_new(&ctx, &region, (struct tern_match_name){ .scope = NAME, .source = 1, .tag = TAG },
                                      1, &s->request) == TERN_OK);
    EXPECT(tern_boot_arena_make(2, 2, &boot->arena, &boot->huge, &boot->segment) == TERN_OK);
    for (int i = 0; i < 2; i++) {
        s->r[i].ops = link_named("shm");
        s->r[i].boot = *boot;
        tern_boot_place(&s->r[i].boot, i);
        EXPECT(s->r[i].ops->open(&s->r[i].boot, i == 0 ? &tern_op_upcalls : &test_up, &s->r[i].link) == TERN_OK);
    }
    EXPECT(s->r[1].ops->inject->notify(s->r[1].link, 0, &s->port) == TERN_OK);
}

/* Rank 1 writes a notification: its words, and the bytes of its inline payload. */
static void forge(struct scene *s, uint64_t first, uint64_t third, unsigned kind)
{
    struct tern_nq_claim claim;
    uint64_t             word[TERN_NQ_WORDS] = { first, NAME, third };

    EXPECT(tern_base_nq_reserve(&s->port->queue, &claim));
    memcpy(claim.cell->head, word, sizeof(word));
    memset(claim.cell->head + sizeof(word), 0x33, TERN_LINK_INLINE);
    tern_base_nq_publish(&claim, kind);
}

/* Receive notifications as a wait does: by the fast path first, then by delivery. */
static bool is_taken(struct scene *s)
{
    bool taken = tern_op_expected_wait(s->request, 64);

    shortly += taken;
    for (int i = 0; i < 4 && !taken; i++) {
        tern_core_message_poll(); /* new senders are detected with messages */
        tern_core_message_poll_notify();
        taken = tern_op_notify_request_state(s->request) == TERN_NOTIFY_REQUEST_DONE;
    }
    if (taken)
        tern_op_notify_request_seen(s->request);
    return taken;
}

/* Returns whether the notification is refused. If not, *taken says whether the request has matched it. */
static bool is_refused(struct scene *s, bool *taken)
{
    tern_op_notify_request_start(s->request);
    if (setjmp(refused) != 0) {
        delivering = false;
        return true;
    }
    delivering = true;
    *taken = is_taken(s);
    delivering = false;
    return false;
}

static void take_good(struct scene *s, uint64_t first, uint64_t third, unsigned kind)
{
    bool taken = false;

    forge(s, first, third, kind);
    EXPECT(!is_refused(s, &taken) && taken);
}

static void nothing_but(const struct scene *s, uint64_t at, uint64_t len)
{
    for (uint64_t i = 0; i < SIZE; i++)
        EXPECT(s->memory[i] == (i - at < len ? 0x33 : 0x5a));
}

/* Valid notifications are received on both paths with their inline payload, so that the refusals below mean
 * something. */
static void good_notes(struct scene *s)
{
    for (int i = 0; i < 3; i++)
        take_good(s, wire_notify_first(TAG, WIRE_NOTIFY, 0), 1000, 0);
    nothing_but(s, 0, 0);
    for (int i = 0; i < 3; i++)
        take_good(s, wire_notify_first(TAG, WIRE_NOTIFY_INLINE, 8), 16, TERN_NQ_INLINE);
    nothing_but(s, 16, 8);
    EXPECT(shortly == (atomic_load(&tern_bias.revoked) ? 0 : 4)); /* all but the first of each kind */
    take_good(s, wire_notify_first(TAG, WIRE_NOTIFY_INLINE, 24), SIZE - 24, TERN_NQ_INLINE);
    EXPECT(s->memory[SIZE - 1] == 0x33 && s->memory[SIZE - 25] == 0x5a);
}

/* A wait takes notifications that fill all primary cells and many overflow cells in order, and by the fast path, except
 * for those behind which the sender has switched between the rows of cells. */
static void backlog(struct scene *s)
{
    const uint64_t first = wire_notify_first(TAG, WIRE_NOTIFY_INLINE, 8);
    bool           taken;

    take_good(s, first, 0, TERN_NQ_INLINE);
    for (uint64_t i = 1; i < BACKLOG; i++)
        forge(s, first, 8 * i, TERN_NQ_INLINE);
    for (uint64_t i = 1; i < BACKLOG; i++) {
        EXPECT(!is_refused(s, &taken) && taken);
        if (!atomic_load(&tern_bias.revoked))
            nothing_but(s, 0, 8 * (i + 1));
        for (uint64_t k = 0; k < 8 * (i + 1); k++) /* a delivery may be ahead of the requests */
            EXPECT(s->memory[k] == 0x33);
    }
    EXPECT(atomic_load(&tern_bias.revoked) ? shortly == 0 : shortly >= BACKLOG - 4);
}

/* A notification without an inline payload that has a length: the wait would expect this length of the next
 * notification, which has an inline payload. */
static void a_length_of_nothing(struct scene *s)
{
    const uint64_t first = wire_notify_first(TAG, WIRE_NOTIFY, 200);
    bool           taken;

    take_good(s, wire_notify_first(TAG, WIRE_NOTIFY, 0), 0, 0);
    forge(s, first, 0, 0);
    forge(s, first, 0x700000000000ull, TERN_NQ_INLINE);
    EXPECT(is_refused(s, &taken) || is_refused(s, &taken));
    nothing_but(s, 0, 0);
}

/* Contents of a bad notification that follows a valid one with 8 bytes of inline payload. */
static const struct {
    enum wire_notify_kind kind;
    uint8_t               len;
    uint64_t              third;
} almost[] = {
    { WIRE_NOTIFY_INLINE, 8, SIZE - 7 },   { WIRE_NOTIFY_INLINE, 8, SIZE },
    { WIRE_NOTIFY_INLINE, 8, UINT64_MAX }, { WIRE_NOTIFY_INLINE, 8, 0x700000000000ull },
    { WIRE_NOTIFY_INLINE, 25, 0 },         { WIRE_NOTIFY_INLINE, 255, 0 },
    { WIRE_NOTIFY_KINDS, 8, 0 },           { WIRE_NOTIFY, 8, 0 },
};
static size_t which;

static void almost_the_same(struct scene *s)
{
    bool taken;

    take_good(s, wire_notify_first(TAG, WIRE_NOTIFY_INLINE, 8), 16, TERN_NQ_INLINE);
    forge(s, wire_notify_first(TAG, almost[which].kind, almost[which].len), almost[which].third, TERN_NQ_INLINE);
    EXPECT(is_refused(s, &taken));
    nothing_but(s, 16, 8);
}

static void play(scene_body *body)
{
    struct scene s = { .port = NULL };

    scene_set(&s);
    body(&s);
    for (int i = 0; i < 2; i++)
        s.r[i].ops->close(s.r[i].link);
    tern_op_notify_leave();
    tern_op_notify_close();
    tern_core_message_close();
    serve_world_close();
}

SCENE_TEST(good_notes)
SCENE_TEST(backlog)
SCENE_TEST(a_length_of_nothing)

/* A refusal ends the job, so each case runs in its own process. */
static void test_almost_the_same(void **state)
{
    (void)state;
    for (which = 0; which < sizeof(almost) / sizeof(almost[0]); which++)
        run_alone(play, almost_the_same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_notes),
        cmocka_unit_test(test_backlog),
        cmocka_unit_test(test_a_length_of_nothing),
        cmocka_unit_test(test_almost_the_same),
    };

    return cmocka_run_group_tests_name("hostile notes", tests, default_options, NULL);
}

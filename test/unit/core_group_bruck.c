/* core_group_bruck.c: groups by messages (Bruck groups), with all ranks of a job played by one process.
 *
 * Promise: no rank leaves a barrier before all have arrived; then each rank reads the contribution that every rank made
 * to this barrier, whatever the lengths, the placement of ranks on nodes, the length of messages, the space in queues,
 * and the order in which messages of different ranks arrive; messages of the next barrier may arrive early. Malformed
 * bytes are refused and never followed. The links between the ranks are queues of this test.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "core/group_bruck.h"
#include "core/job.h"

#define RANKS 13
#define QUEUE 4

struct message {
    unsigned char head[TERN_LINK_HEAD], data[8192];
    size_t        len;
};

/* The messages that rank a has sent to rank b. */
static struct queue {
    struct message message[QUEUE];
    unsigned       first, count;
} queues[RANKS][RANKS];

static struct message out; /* the open message */
static size_t         longest, longest_note;
static unsigned       space; /* capacity of a queue in messages; 0: as many as fit */
static uint64_t       seed;

static uint64_t draw(uint64_t below)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 2685821657736338717ull % below;
}

static bool queue_reaches(const struct tern_link *link, int peer)
{
    (void)link;
    return peer == tern_job.boot.rank; /* so that no link reaches the whole team */
}

static size_t queue_longest(struct tern_link *link, int peer, unsigned channel)
{
    (void)link, (void)peer, (void)channel;
    return longest;
}

static tern_status queue_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    const struct queue *q = &queues[tern_job.boot.rank][msg->peer];

    (void)link;
    assert_int_not_equal(msg->peer, tern_job.boot.rank);
    assert_int_equal(msg->channel, TERN_CHANNEL_REPLY);
    assert_true(min <= max && max <= longest);
    if (q->count == QUEUE || (space && q->count >= space) || draw(4) == 0)
        return TERN_AGAIN;
    msg->head = out.head;
    msg->data = out.data;
    msg->data_max = max;
    return TERN_OK;
}

static void queue_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    struct queue   *q = &queues[tern_job.boot.rank][msg->peer];
    struct message *m = &q->message[(q->first + q->count++) % QUEUE];

    (void)link;
    assert_true(len <= msg->data_max);
    memcpy(m->head, out.head, sizeof(m->head));
    memcpy(m->data, out.data, len);
    m->len = len;
}

static tern_status queue_brief(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count)
{
    struct tern_link_msg msg = { .peer = peer, .channel = channel };
    tern_status          st = queue_open(link, &msg, 0, 0);

    if (st != TERN_OK)
        return st;
    memcpy(msg.head, &first, sizeof(first));
    memcpy(msg.head + sizeof(first), rest, count * sizeof(*rest));
    queue_send(link, &msg, 0);
    return TERN_OK;
}

static const struct tern_msg_ops queue_msg = {
    .max_data = queue_longest, .open = queue_open, .send = queue_send, .send_short = queue_brief
};

static const struct tern_link_ops queue_ops = { .name = "queue", .msg = &queue_msg, .reaches = queue_reaches };

/* A job. */
static struct {
    uint32_t                ranks;
    struct tern_link_group *group[RANKS];
    uint32_t                entered[RANKS]; /* barriers */
    bool                    inside[RANKS];
    unsigned char           note[2][RANKS][TERN_LINK_CONTRIBUTION];
    size_t                  len[2]; /* length of each rank's contribution; 0: none */
} job;

/* From now on this process plays that rank. */
static const struct tern_group_ops *become(uint32_t rank)
{
    tern_job.boot.rank = (int)rank;
    tern_job.boot.node = (int)tern_core_job_slot((int)rank)->node;
    return job.group[rank]->ops;
}

static void job_make(uint32_t ranks, const int32_t *node_of, int nodes)
{
    struct tern_boot_shape shape = { .ranks = (int)ranks, .nodes = nodes, .node_of = node_of, .cores = 1, .job = 1 };

    memset(&job, 0, sizeof(job));
    memset(queues, 0, sizeof(queues));
    job.ranks = ranks;
    tern_job.boot = (struct tern_boot){ .ranks = (int)ranks, .nodes = nodes, .relay_fd = -1 };
    assert_int_equal(tern_boot_arena_shape(&shape, &tern_job.boot.arena, &tern_job.boot.huge, &tern_job.boot.segment),
                     TERN_OK);
    tern_job.ops[0] = &queue_ops;
    tern_job.links = 1;
    tern_job.peer_link = calloc(ranks, sizeof(*tern_job.peer_link));
    for (uint32_t r = 0; r < ranks; r++) {
        struct tern_link_group as = { .id = 0, .size = ranks, .me = r };

        tern_job.boot.rank = (int)r;
        assert_int_equal(tern_core_bruck_group.open(NULL, &as, &job.group[r]), TERN_OK);
    }
}

static void job_remove(void)
{
    for (uint32_t r = 0; r < job.ranks; r++)
        become(r)->close(job.group[r]);
    free(tern_job.peer_link);
    tern_boot_leave(&tern_job.boot);
}

static struct bruck *circle_of(uint32_t rank)
{
    return (struct bruck *)job.group[rank];
}

/* Deliver the oldest message of a queue. */
static void deliver(uint32_t from, uint32_t to)
{
    struct queue           *q = &queues[from][to];
    struct message         *m = &q->message[q->first];
    struct bruck_stream_in *in;
    struct core_wire        head;

    become(to);
    memcpy(&head, m->head, sizeof(head));
    assert_true(head.whose == CORE_WIRE_OWN && head.mark == CORE_WIRE_MARK);
    assert_true(head.barrier - job.entered[to] <= 1);
    in = tern_core_bruck_stream_in(circle_of(to), (int)from, &head);
    assert_non_null(in);
    assert_true(tern_core_stream_receive(circle_of(to), in, &head, m->data, m->len));
    q->first = (q->first + 1) % QUEUE;
    q->count--;
}

/* Enter a barrier. The contributions of all ranks to a barrier have the same length, or there are none; their contents
 * follow from the number of the barrier. */
static void enter(uint32_t rank)
{
    const struct tern_group_ops *ops = become(rank);
    uint32_t                     barrier = ++job.entered[rank], parity = barrier & 1;
    bool                         first = true;

    for (uint32_t r = 0; r < job.ranks; r++)
        first = first && (r == rank || job.entered[r] < barrier);
    if (first)
        job.len[parity] = draw(4) == 0 ? 0 : 1 + draw(draw(2) ? 100 : longest_note);
    for (size_t i = 0; i < job.len[parity]; i++)
        job.note[parity][rank][i] = (unsigned char)(barrier * 31 + rank * 7 + i);
    if (job.len[parity] > 0)
        memcpy(ops->contribute(job.group[rank], job.len[parity]), job.note[parity][rank], job.len[parity]);
    ops->arrive(job.group[rank]);
    job.inside[rank] = true;
}

static void leave(uint32_t rank)
{
    const struct tern_group_ops *ops = become(rank);
    uint32_t                     barrier = job.entered[rank], parity = barrier & 1;

    if (!ops->arrived(job.group[rank]))
        return;
    for (uint32_t r = 0; r < job.ranks; r++) {
        assert_true(job.entered[r] == barrier || job.entered[r] == barrier + 1);
        assert_true(ops->has_arrived(job.group[rank], r));
        if (job.len[parity] > 0)
            assert_memory_equal(ops->contribution(job.group[rank], r), job.note[parity][r], job.len[parity]);
    }
    job.inside[rank] = false;
}

/* Check that no rank is reported as arrived that has not entered. */
static void check_came(uint32_t rank)
{
    const struct tern_group_ops *ops = become(rank);

    for (uint32_t r = 0; job.inside[rank] && r < job.ranks; r++)
        if (ops->has_arrived(job.group[rank], r))
            assert_true(!((int32_t)(job.entered[rank] - job.entered[r]) > 0));
}

/* Make one step of a rank chosen at random. */
static void step(uint32_t barriers)
{
    uint32_t a = (uint32_t)draw(job.ranks), b = (uint32_t)draw(job.ranks);

    if (draw(3) > 0) {
        if (queues[a][b].count > 0)
            deliver(a, b);
    } else if (job.inside[a]) {
        check_came(a);
        leave(a);
    } else if (job.entered[a] < barriers) {
        enter(a);
    }
}

static bool all_done(uint32_t barriers)
{
    for (uint32_t r = 0; r < job.ranks; r++)
        if (job.inside[r] || job.entered[r] < barriers)
            return false;
    return true;
}

static void play(uint32_t ranks, const int32_t *node_of, int nodes, uint32_t barriers)
{
    uint64_t steps = 0;

    job_make(ranks, node_of, nodes);
    while (!all_done(barriers)) {
        step(barriers);
        assert_true(++steps < 100000000); /* the job hangs */
    }
    for (uint32_t a = 0; a < ranks; a++)
        for (uint32_t b = 0; b < ranks; b++)
            assert_int_equal(queues[a][b].count, 0);
    job_remove();
}

static void any_nodes(void **state)
{
    static const size_t lengths[] = { 16, 20, 24, 100, 1000, 8192 };
    int32_t             node_of[RANKS];

    (void)state;
    for (uint32_t ranks = 1; ranks <= RANKS; ranks++) {
        for (uint32_t way = 0; way < 6; way++) {
            int nodes = way == 0 ? (int)ranks : way == 1 ? 1 : 1 + (int)draw(ranks);

            for (uint32_t r = 0; r < ranks; r++) /* each node has a rank; the other ranks are placed anywhere */
                node_of[r] = r < (uint32_t)nodes ? (int32_t)r : (int32_t)draw((uint64_t)nodes);
            for (uint32_t r = ranks - 1; r > 0 && way > 2; r--) { /* and not in order */
                uint32_t other = (uint32_t)draw(r + 1);
                int32_t  kept = node_of[r];
                node_of[r] = node_of[other];
                node_of[other] = kept;
            }
            longest = lengths[draw(sizeof(lengths) / sizeof(lengths[0]))];
            longest_note = longest < 100 ? 300 : TERN_LINK_CONTRIBUTION; /* in hundreds of messages, not thousands */
            space = way % 2 ? 1 + (unsigned)draw(3) : 0;
            play(ranks, node_of, nodes, 8);
        }
    }
}

/* Without contributions there is one message for each step: one up and one down for each member of a node but one, and
 * the rounds. */
static void few_messages(void **state)
{
    static const int32_t node_of[] = { 0, 0, 0, 1, 1, 2, 3, 4, 4 }; /* five nodes: three rounds */
    uint32_t             sent = 0;

    (void)state;
    longest = 1000;
    space = 0;
    job_make(9, node_of, 5);
    for (uint32_t r = 0; r < 9; r++) {
        become(r)->arrive(job.group[r]);
        job.entered[r] = 1;
        job.inside[r] = true;
    }
    while (!all_done(1)) {
        uint32_t a = (uint32_t)draw(9), b = (uint32_t)draw(9);

        if (queues[a][b].count > 0) {
            deliver(a, b);
            sent++;
        } else if (job.inside[a] && become(a)->arrived(job.group[a])) {
            job.inside[a] = false;
        }
    }
    assert_int_equal(sent, 4 + 5 * 3 + 4);
    job_remove();
}

/* Members whose contributions differ in length, or are missing, are detected, and nothing is read past the end. */
static void different_notes(void **state)
{
    static const int32_t node_of[] = { 0, 0, 1 };
    static const size_t  len[] = { 400, 40, 0 };
    unsigned char        note[400];
    uint32_t             left = 3;

    (void)state;
    longest = 100;
    space = 0;
    job_make(3, node_of, 2);
    for (uint32_t r = 0; r < 3; r++) {
        memset(note, (int)r + 1, sizeof(note));
        if (len[r] > 0)
            memcpy(become(r)->contribute(job.group[r], len[r]), note, len[r]);
        become(r)->arrive(job.group[r]);
        job.entered[r] = 1;
        job.inside[r] = true;
    }
    while (left > 0) {
        uint32_t a = (uint32_t)draw(3), b = (uint32_t)draw(3);

        if (queues[a][b].count > 0)
            deliver(a, b);
        else if (job.inside[a] && become(a)->arrived(job.group[a]))
            job.inside[a] = false, left--;
    }
    for (uint32_t reader = 0; reader < 2; reader++)
        for (uint32_t r = 0; r < 3; r++)
            for (size_t i = 0; i < len[reader]; i++) { /* as many as the reader contributed */
                const unsigned char *at = become(reader)->contribution(job.group[reader], r);
                assert_int_equal(at[i], i < len[r] ? r + 1 : 0);
            }
    job_remove();
}

/* The messages that rank 0 accepts from each rank. Rank 0 leads itself and rank 2, and there are three more nodes. */
static void strangers_are_refused(void **state)
{
    static const int32_t  node_of[] = { 0, 1, 0, 2, 3 };
    static const uint16_t no_round[] = { 2, 3, 31, 32, 33, UINT16_MAX };
    struct core_wire      head = { .whose = CORE_WIRE_OWN, .way = CORE_DIRECTION_ROUND, .barrier = 1 };

    (void)state;
    longest = 1000;
    job_make(5, node_of, 4);
    become(0);
    assert_null(
        tern_core_bruck_stream_in(circle_of(0), 1, &head)); /* round 0 is for the previous node: that of rank 4 */
    assert_non_null(tern_core_bruck_stream_in(circle_of(0), 4, &head));
    head.round = 1;
    assert_non_null(tern_core_bruck_stream_in(circle_of(0), 3, &head));
    assert_null(tern_core_bruck_stream_in(circle_of(0), 4, &head));
    for (size_t i = 0; i < sizeof(no_round) / sizeof(no_round[0]); i++) {
        head.round = no_round[i];
        for (int from = 0; from < 5; from++)
            assert_null(tern_core_bruck_stream_in(circle_of(0), from, &head));
    }
    head = (struct core_wire){ .whose = CORE_WIRE_OWN, .way = CORE_DIRECTION_UP, .barrier = 1 };
    for (int from = 0; from < 5; from++)
        assert_true((tern_core_bruck_stream_in(circle_of(0), from, &head) != NULL) == (from == 2));
    head.way = CORE_DIRECTION_DOWN;
    for (int from = 0; from < 5; from++) {
        assert_null(tern_core_bruck_stream_in(circle_of(0), from, &head));
        assert_true((tern_core_bruck_stream_in(circle_of(2), from, &head) != NULL) == (from == 0));
    }
    head.way = 3;
    for (int from = 0; from < 5; from++)
        assert_null(tern_core_bruck_stream_in(circle_of(0), from, &head));
    job_remove();
}

/* Returns whether one fragment in len bytes of data is accepted. */
static bool takes(const struct core_fragment *piece, size_t len)
{
    struct core_wire head = { .way = CORE_DIRECTION_ROUND, .barrier = 1, .last = 1 };
    unsigned char   *data = calloc(1, len); /* of exactly this length, for the sanitizer */
    bool             taken;

    memcpy(data, piece, len < sizeof(*piece) ? len : sizeof(*piece));
    taken = tern_core_stream_receive(circle_of(0), circle_of(0)->in[1], &head, data, len);
    free(data);
    return taken;
}

static void bad_pieces_are_refused(void **state)
{
    static const int32_t node_of[] = { 0, 1, 2 };
    const size_t         head = sizeof(struct core_fragment);

    (void)state;
    longest = 1000;
    job_make(3, node_of, 3);
    become(0);
    assert_true(takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = 0, .len = 8 }, head + 8));
    assert_true(takes(
        &(struct core_fragment){
            .member = 2, .whole = TERN_LINK_CONTRIBUTION, .at = TERN_LINK_CONTRIBUTION - 7, .len = 7 },
        head + 8));
    assert_false(takes(&(struct core_fragment){ .member = 0, .whole = 8, .at = 0, .len = 8 }, head + 8)); /* its own */
    assert_false(takes(&(struct core_fragment){ .member = 3, .whole = 8, .at = 0, .len = 8 }, head + 8));
    assert_false(takes(&(struct core_fragment){ .member = UINT32_MAX, .whole = 8, .at = 0, .len = 8 }, head + 8));
    assert_false(takes(
        &(struct core_fragment){
            .member = 1, .whole = TERN_LINK_CONTRIBUTION + 1, .at = TERN_LINK_CONTRIBUTION - 6, .len = 7 },
        head + 8));
    assert_false(takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = 1, .len = 8 }, head + 8));
    assert_false(takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = UINT16_MAX, .len = 8 }, head + 8));
    assert_false(takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = 0, .len = 0 }, head));
    assert_false(takes(&(struct core_fragment){ .member = 1, .whole = 16, .at = 0, .len = 9 }, head + 8));
    assert_false(
        takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = 0, .len = 7 }, head + 7)); /* incomplete */
    for (size_t len = 1; len < head; len++)
        assert_false(takes(&(struct core_fragment){ .member = 1, .whole = 8, .at = 0, .len = 8 }, len));
    job_remove();
}

/* Data in which every field may have any value, mostly close to valid ones. The sanitizer sees an access past the
 * end. */
static void random_bytes(void **state)
{
    static const int32_t node_of[] = { 0, 1, 2 };
    unsigned             refused = 0, taken = 0;

    (void)state;
    longest = 1000;
    job_make(3, node_of, 3);
    for (unsigned i = 0; i < 20000; i++) {
        size_t           len = (size_t)draw(200) & ~(size_t)(draw(4) ? 3 : 0);
        unsigned char   *data = malloc(len ? len : 1);
        struct core_wire head = { .way = CORE_DIRECTION_ROUND, .barrier = 1 + (uint32_t)draw(2), .last = draw(2) == 0 };

        become(0);
        for (size_t k = 0; k < len; k++)
            data[k] = (unsigned char)draw(256);
        for (size_t at = 0; at + sizeof(struct core_fragment) <= len;) {
            size_t               most = len - at - sizeof(struct core_fragment);
            uint16_t             n = (uint16_t)(draw(8) ? draw(most + 1) : draw(UINT16_MAX));
            struct core_fragment piece = { .member = draw(8) ? 1 + (uint32_t)draw(2) : (uint32_t)draw(UINT32_MAX),
                                           .whole = (uint16_t)(draw(8) ? n + draw(100) : draw(UINT16_MAX)),
                                           .at = (uint16_t)draw(draw(4) ? 2 : UINT16_MAX),
                                           .len = n };

            memcpy(data + at, &piece, sizeof(piece));
            at += core_fragment_bytes(n);
        }
        if (tern_core_stream_receive(circle_of(0), circle_of(0)->in[head.barrier & 1], &head, data, len))
            taken++;
        else
            refused++;
        free(data);
    }
    assert_true(taken > 1000 && refused > 1000); /* both happened */
    job_remove();
}

static int options_load(void **state)
{
    char *none[] = { NULL };

    (void)state;
    seed = 88172645463325252ull;
    return tern_base_options_load(none) == TERN_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_nodes),
        cmocka_unit_test(few_messages),
        cmocka_unit_test(different_notes),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(bad_pieces_are_refused),
        cmocka_unit_test(random_bytes),
    };

    return cmocka_run_group_tests_name("groups by messages", tests, options_load, NULL);
}

/* tagged.c: random programs of sends and receives, against a plain model of MPI's matching; and storms.
 *
 * Promise: a receive gets the message that a walk along a list of receives and a list of messages would find, whatever
 * the lengths (and so the protocols), with wildcards for source and tag, tag masks, probes, matched probes, and
 * cancelled and persistent receives. When all ranks send to all others more than they buffer, no message is lost,
 * duplicated or overtaken, no rank waits for ever, and every message is received as it was sent.
 *
 * A message carries the number of its round and its own number, from which all of its bytes follow. All ranks know the
 * rounds, so each rank knows the messages to it: in a round one rank sends, and all check the result when the messages
 * have arrived.
 *
 * env: TERN_MSG_EAGER=512 TERN_MSG_FIRST=100 TERN_MSG_CHUNKED=2K TERN_MSG_CHUNK=4K TERN_MSG_KEEP=256K
 * env: TERN_MSG_EAGER=512 TERN_MSG_KEEP=256K TERN_MSG_QUEUE=32K
 * env: TERN_CMA=off TERN_MSG_EAGER=1K TERN_MSG_CHUNKED=8K TERN_MSG_CHUNK=4K TERN_MSG_WINDOW=2
 */
#include <sched.h>

#include "job_test.h"

static uint64_t seed;

static unsigned dice(unsigned n)
{
    return (unsigned)(job_random(&seed) % n);
}

/* ---- messages whose every byte is known ---- */

#define LONGEST 40000

static unsigned char byte_of(int source, uint64_t number, size_t at)
{
    return (unsigned char)(number * 13 + (unsigned)source * 5 + at * 7 + at / 97);
}

static void write_bytes(unsigned char *to, int source, uint64_t number, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = byte_of(source, number, i);
}

static void check_bytes(const unsigned char *bytes, int source, uint64_t number, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != byte_of(source, number, i))
            job_fail(__FILE__, __LINE__, "a byte", "is not the one that was sent");
}

/* ---- the model ---- */

#define MOST 24  /* receives */
#define KEPT 400 /* messages */

struct sent {
    int      source;
    int64_t  tag;
    uint64_t number;
    size_t   len;
};

struct model {
    tern_request *request;
    int           source;
    int64_t       tag, mask;
    size_t        size;
    bool          persistent;
    enum { NONE, IDLE, STARTED, DONE } state;
    uint64_t      turn;
    struct sent   got;
    unsigned char buffer[LONGEST];
};

static struct model models[MOST];
static struct sent  kept[KEPT];
static unsigned     kept_count;
static uint64_t     turns;

static bool takes(int source, int64_t tag, int64_t mask, const struct sent *sent)
{
    return (source == TERN_ANY_SOURCE || source == sent->source) &&
           (tag == TERN_ANY_TAG || ((tag ^ sent->tag) & mask) == 0);
}

static void model_comes(const struct sent *sent)
{
    struct model *oldest = NULL;

    for (struct model *m = models; m < models + MOST; m++)
        if (m->state == STARTED && takes(m->source, m->tag, m->mask, sent) && (!oldest || m->turn < oldest->turn))
            oldest = m;
    if (oldest) {
        oldest->got = *sent;
        oldest->state = DONE;
        return;
    }
    CHECK(kept_count < KEPT);
    kept[kept_count++] = *sent;
}

static int model_oldest(int source, int64_t tag, int64_t mask)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (takes(source, tag, mask, &kept[i]))
            return (int)i;
    return -1;
}

static struct sent model_take(int i)
{
    struct sent sent = kept[i];

    memmove(&kept[i], &kept[i + 1], (--kept_count - (unsigned)i) * sizeof(kept[0]));
    return sent;
}

static void model_start(struct model *m)
{
    int i = model_oldest(m->source, m->tag, m->mask);

    m->state = STARTED;
    m->turn = ++turns;
    if (i >= 0) {
        m->got = model_take(i);
        m->state = DONE;
    }
}

/* ---- both ---- */

static void same_info(const tern_request_info *info, const struct sent *sent)
{
    SAME(info->source, sent->source);
    SAME(info->tag, sent->tag);
    SAME(info->len, sent->len);
}

static size_t random_size(void)
{
    return dice(8) == 0 ? dice(3000) : LONGEST;
}

static void wish(struct model *m)
{
    m->source = dice(2) ? TERN_ANY_SOURCE : (int)dice((unsigned)tern_size());
    m->tag = dice(3) == 0 ? TERN_ANY_TAG : (int64_t)dice(8);
    m->mask = dice(3) == 0 ? (int64_t)dice(8) : TERN_TAG_MAX;
}

static void begin(struct model *m)
{
    wish(m);
    m->size = random_size();
    m->persistent = dice(3) == 0;
    if (m->persistent) {
        OK(tern_recv_create_masked(TERN_WORLD, m->source, m->tag, m->mask, m->buffer, m->size, &m->request));
        m->state = IDLE;
        return;
    }
    if (m->mask == TERN_TAG_MAX)
        OK(tern_irecv(TERN_WORLD, m->source, m->tag, m->buffer, m->size, &m->request));
    else
        OK(tern_irecv_masked(TERN_WORLD, m->source, m->tag, m->mask, m->buffer, m->size, &m->request));
    model_start(m);
}

static void ended(struct model *m)
{
    CHECK((m->request != NULL) == m->persistent);
    check_bytes(m->buffer, m->got.source, m->got.number, m->got.len < m->size ? m->got.len : m->size);
    m->state = m->persistent ? IDLE : NONE;
}

static void await(struct model *m)
{
    tern_request_info info;

    RETURNS(m->got.len > m->size ? TERN_ERR_TRUNCATED : TERN_OK, tern_request_wait(&m->request, TERN_FOREVER, &info));
    same_info(&info, &m->got);
    ended(m);
}

static void cancel(struct model *m)
{
    tern_status st = tern_request_cancel(&m->request, NULL);

    CHECK(st == (m->state == DONE ? TERN_PENDING : TERN_OK));
    if (m->state == STARTED)
        m->state = m->persistent ? IDLE : NONE;
}

static void probe(void)
{
    static unsigned char buffer[LONGEST];
    struct model         p;
    struct sent          sent;
    tern_request_info    info;
    tern_message        *message;
    int                  i;

    wish(&p);
    i = model_oldest(p.source, p.tag, p.mask);
    RETURNS(i >= 0 ? TERN_OK : TERN_PENDING, tern_probe_masked(TERN_WORLD, p.source, p.tag, p.mask, TERN_NOW, &info));
    if (i < 0)
        return;
    same_info(&info, &kept[i]);
    if (dice(2))
        return;
    OK(tern_mprobe_masked(TERN_WORLD, p.source, p.tag, p.mask, TERN_NOW, &message, &info));
    sent = model_take(i);
    same_info(&info, &sent);
    OK(tern_mrecv(&message, buffer, LONGEST, &info));
    same_info(&info, &sent);
    check_bytes(buffer, sent.source, sent.number, sent.len);
}

/* One step of a random program. */
static void step(void)
{
    struct model *m = &models[dice(MOST)];

    switch (m->state) {
    case NONE: begin(m); break;
    case IDLE:
        if (dice(4) == 0) {
            OK(tern_request_free(&m->request));
            m->state = NONE;
        } else {
            OK(tern_request_start(m->request));
            model_start(m);
        }
        break;
    case STARTED:
        if (dice(3) == 0)
            cancel(m);
        else
            RETURNS(TERN_PENDING, tern_request_test(&m->request, NULL));
        break;
    case DONE:
        if (dice(4) == 0)
            cancel(m);
        await(m);
    }
    if (dice(4) == 0)
        probe();
}

/* The messages of a rank in a round follow from the round. The tag of the last message is unique. */
static struct sent sent_of(uint64_t *numbers, int source, unsigned round, unsigned i, bool last)
{
    static const size_t most[] = { 8, 40, 600, 5000, LONGEST };
    uint64_t            random = job_random(numbers);

    return (struct sent){ .source = source,
                          .tag = (int64_t)(random % 8) + (last ? 8 * (int64_t)(round + 1) : 0),
                          .number = round * 64u + i,
                          .len = (size_t)(random / 64 % (most[random / 8 % 5] + 1)) };
}

#define ROUNDS (JOB_SANITIZED ? 24u : 60u)
#define EACH 16u /* messages of a round, at most */

static tern_request  *sends[60 * EACH * 8];
static size_t         sending;
static unsigned char *sent_bytes[60 * EACH];
static size_t         sent_count;

static void send_to_all(const struct sent *sent)
{
    unsigned char *bytes = job_new(sent->len);

    write_bytes(bytes, sent->source, sent->number, sent->len);
    sent_bytes[sent_count++] = bytes;
    for (int to = 0; to < tern_size(); to++) {
        if (sent->len <= 24 && sent->number % 2)
            OK(tern_send(TERN_WORLD, to, sent->tag, bytes, sent->len));
        else if (sent->number % 3 == 0)
            OK(tern_issend(TERN_WORLD, to, sent->tag, bytes, sent->len, &sends[sending++]));
        else
            OK(tern_isend(TERN_WORLD, to, sent->tag, bytes, sent->len, &sends[sending++]));
    }
}

/* The last message of a round overtakes nothing: when it is there, all of them are. */
static void all_have_come(const struct sent *last)
{
    if (kept_count > 0 && kept[kept_count - 1].number == last->number)
        OK(tern_probe(TERN_WORLD, last->source, last->tag, TERN_FOREVER, NULL));
    for (struct model *m = models; m < models + MOST; m++)
        if (m->state == DONE && m->got.number == last->number)
            await(m);
}

/* One rank sends to all, in any way; then all check the result. */
static void round_of(int source, unsigned round)
{
    uint64_t    numbers = job_seed(1 + round * 1000003u);
    unsigned    count = 1 + (unsigned)(job_random(&numbers) % EACH);
    struct sent sent = { 0 };

    OK(tern_barrier(TERN_WORLD)); /* all have finished their earlier steps */
    for (unsigned i = 0; i < count; i++) {
        sent = sent_of(&numbers, source, round, i, i == count - 1);
        model_comes(&sent);
        if (source == tern_rank())
            send_to_all(&sent);
    }
    all_have_come(&sent);
}

/* Receive the unexpected messages, oldest first, except some. */
static void receive_kept(unsigned leave)
{
    static unsigned char buffer[LONGEST];

    while (kept_count > leave) {
        struct sent       sent = model_take(0);
        tern_request_info info;

        OK(tern_recv(TERN_WORLD, sent.source, sent.tag, buffer, LONGEST, &info));
        same_info(&info, &sent);
        check_bytes(buffer, sent.source, sent.number, sent.len);
    }
}

static void against_model(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        round_of((int)(round % (unsigned)tern_size()), round);
        for (unsigned i = 0; i < 60; i++)
            step();
        receive_kept(30);
    }
    receive_kept(0);
    for (struct model *m = models; m < models + MOST; m++) {
        if (m->state == DONE)
            await(m);
        if (m->state == STARTED)
            cancel(m);
        if (m->state == IDLE)
            OK(tern_request_free(&m->request));
    }
    OK(tern_request_wait_all(sends, sending, TERN_FOREVER, NULL, NULL));
    for (size_t i = 0; i < sent_count; i++)
        free(sent_bytes[i]);
    OK(tern_barrier(TERN_WORLD));
}

/* ---- storms ---- */

#define STORM (JOB_SANITIZED ? 60u : 150u) /* messages to each rank */

static size_t storm_len(unsigned i)
{
    static const size_t lens[] = { 8, 0, 30, 700, 33, 8, 20000, 100, 4000, 24 };

    return lens[i % 10];
}

/* All to all, more than is buffered: every rank sends everything before it receives anything, from any source; the
 * messages of one source arrive in order. */
static void storm(bool synchronous)
{
    unsigned             ranks = (unsigned)tern_size(), next[64] = { 0 };
    tern_request       **all = job_new(STORM * ranks * sizeof(*all));
    unsigned char       *bytes = job_new(STORM * 20000u);
    static unsigned char buffer[20000];
    size_t               n = 0;

    for (unsigned i = 0; i < STORM; i++) {
        write_bytes(bytes + i * 20000u, tern_rank(), i, storm_len(i));
        for (unsigned to = 0; to < ranks; to++)
            OK(synchronous ? tern_issend(TERN_WORLD, (int)to, i, bytes + i * 20000u, storm_len(i), &all[n++])
                           : tern_isend(TERN_WORLD, (int)to, i, bytes + i * 20000u, storm_len(i), &all[n++]));
    }
    for (unsigned i = 0; i < STORM * ranks; i++) {
        tern_request_info info;

        OK(tern_recv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, buffer, sizeof(buffer), &info));
        SAME(info.tag, next[info.source]);
        SAME(info.len, storm_len((unsigned)info.tag));
        check_bytes(buffer, info.source, (uint64_t)info.tag, info.len);
        next[info.source]++;
    }
    OK(tern_request_wait_all(all, n, TERN_FOREVER, NULL, NULL));
    free(all);
    free(bytes);
    OK(tern_barrier(TERN_WORLD));
}

/* Receives that are cancelled while their message arrives: the message goes to exactly one receive. */
static void cancel_races(void)
{
    int      right = (tern_rank() + 1) % tern_size(), left = (tern_rank() + tern_size() - 1) % tern_size();
    uint64_t next = 0;

    for (uint64_t i = 0; next < 200 || i < 200; i++) {
        tern_request     *recv;
        tern_request_info info;
        uint64_t          got = ~0ull;

        OK(tern_irecv(TERN_WORLD, left, 5, &got, 8, &recv));
        if (i < 200)
            OK(tern_send(TERN_WORLD, right, 5, &i, 8));
        for (unsigned k = dice(4); k > 0; k--)
            OK(tern_progress(TERN_WORLD));
        if (tern_request_cancel(&recv, NULL) == TERN_OK) {
            sched_yield();
            continue;
        }
        OK(tern_request_wait(&recv, TERN_FOREVER, &info));
        SAME(got, next);
        next++;
    }
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    setenv("TERN_MSG_EAGER", "8K", 0); /* so that many messages are fetched, unless the environment sets the option */
    OK(tern_init());
    seed = job_seed(4000 + (uint64_t)tern_rank());
    against_model();
    storm(false);
    storm(true);
    cancel_races();
    OK(tern_finalize());
    return 0;
}

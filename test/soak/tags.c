/* tags.c: tagged messages of all lengths, and so of all protocols, with cancelled sends and receives and with probes.
 *
 * A worker sends a stream of messages to the worker with the same number at each rank; their number, lengths and bytes
 * follow from the seed. The tag holds the number of the worker in bits that all receives match, and the number of the
 * message in bits that receives ignore. So every receive of a worker matches every message to the worker, except for
 * the source that a receive may name, and the model is short: the messages of each source go to the receives in the
 * order in which the receives were posted, each message once.
 */
#include "soak.h"

#define MESSAGES 16 /* from one worker to another, at most */
#define SENDS 12    /* at a time */
#define RECEIVES 6
#define MASK ((int64_t)0xff << 32)

struct sending {
    tern_request  *request;
    unsigned char *bytes;
    int            to;
    bool           persistent;
};

struct receiving {
    tern_request  *request;
    unsigned char *bytes;
    size_t         size;
    int            source;
    uint64_t       turn;
    bool           persistent;
};

struct soak_tags {
    unsigned         sent[SOAK_RANKS];
    unsigned         got[SOAK_RANKS];
    uint64_t         turn_of[SOAK_RANKS][MESSAGES]; /* when the receive that got it was posted; 0: none yet */
    uint64_t         turns;
    struct sending   sends[SENDS];
    struct receiving receives[RECEIVES];
};

static unsigned messages_between(int from, int to, int thread)
{
    return (unsigned)(soak_hash(30, from, to, thread, 0) % (MESSAGES + 1));
}

static size_t message_len(int from, int to, int thread, unsigned number)
{
    static const size_t most[] = { 8, 40, 600, 5000, 20000, 200000, 30, 3000 };
    uint64_t            hash = soak_hash(31, from, to, thread, number);

    return (size_t)(hash / 8 % (most[hash % 8] + 1));
}

static unsigned char message_byte(int from, int thread, unsigned number, size_t at)
{
    return job_byte((unsigned)(from * SOAK_THREADS + thread), number * 7 + soak_epoch.number, at);
}

static int64_t message_tag(const struct soak_worker *w, unsigned number)
{
    return (int64_t)(w->id + 1) << 32 | (int64_t)number;
}

static void check_message(struct soak_worker *w, const tern_request_info *info, const unsigned char *bytes, size_t size,
                          uint64_t turn)
{
    unsigned number = (unsigned)info->tag;
    int      from = info->source;
    size_t   len;

    CHECK(from >= 0 && from < tern_size());
    CHECK(number < messages_between(from, tern_rank(), w->id));
    SAME(info->tag, message_tag(w, number));
    SAME(w->tags->turn_of[from][number], 0);
    w->tags->turn_of[from][number] = turn;
    w->tags->got[from]++;
    len = message_len(from, tern_rank(), w->id, number);
    SAME(info->len, len);
    len = len < size ? len : size;
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != message_byte(from, w->id, number, i))
            job_fail(__FILE__, __LINE__, "a byte of a message", "is not the one that was sent");
}

/* ---- sends ---- */

static struct sending *free_send(struct soak_worker *w)
{
    for (int i = 0; i < SENDS; i++)
        if (!w->tags->sends[i].request)
            return &w->tags->sends[i];
    return NULL;
}

static void send_ended(struct sending *s)
{
    if (s->persistent && s->request)
        OK(tern_request_free(&s->request));
    CHECK(s->request == NULL);
    free(s->bytes);
    *s = (struct sending){ .request = NULL };
}

static tern_status send_start(struct soak_worker *w, struct sending *s, unsigned number, size_t len)
{
    int64_t     tag = message_tag(w, number);
    bool        synchronous = soak_dice(w, 4) == 0;
    tern_status st;

    s->persistent = soak_dice(w, 4) == 0;
    if (!s->persistent)
        return synchronous ? tern_issend(w->ctx, s->to, tag, s->bytes, len, &s->request)
                           : tern_isend(w->ctx, s->to, tag, s->bytes, len, &s->request);
    st = synchronous ? tern_ssend_create(w->ctx, s->to, tag, s->bytes, len, &s->request)
                     : tern_send_create(w->ctx, s->to, tag, s->bytes, len, &s->request);
    return st == TERN_OK ? tern_request_start(s->request) : st;
}

static void send_next(struct soak_worker *w, int to)
{
    struct sending *s = free_send(w);
    unsigned        number = w->tags->sent[to];
    size_t          len = message_len(tern_rank(), to, w->id, number);
    tern_status     st;

    if (!s)
        return;
    SOAK_COUNT(send);
    s->bytes = job_new(len);
    s->to = to;
    for (size_t i = 0; i < len; i++)
        s->bytes[i] = message_byte(tern_rank(), w->id, number, i);
    if (!GOOD(to, send_start(w, s, number, len))) {
        send_ended(s);
        w->tags->sent[to]++;
        return;
    }
    if (soak_dice(w, 16) == 0) { /* nothing has been sent behind it, so its number can be reused */
        SOAK_COUNT(cancel);
        st = tern_request_cancel(&s->request, NULL);
        CHECK(st == TERN_OK || st == TERN_PENDING);
        if (st == TERN_OK) {
            send_ended(s);
            return;
        }
    }
    w->tags->sent[to]++;
}

/* ---- receives ---- */

static unsigned expected(struct soak_worker *w, int from)
{
    return messages_between(from, tern_rank(), w->id) - w->tags->got[from];
}

static void receive_ended(struct receiving *r)
{
    if (r->persistent)
        OK(tern_request_free(&r->request));
    CHECK(r->request == NULL);
    free(r->bytes);
    *r = (struct receiving){ .request = NULL };
}

/* The request has completed with this status. */
static void received(struct soak_worker *w, struct receiving *r, tern_status st, const tern_request_info *info)
{
    bool truncated = st == TERN_ERR_TRUNCATED;

    SOAK_COUNT(receive);
    if (truncated || GOOD(r->source, st)) {
        CHECK(truncated == (info->len > r->size));
        check_message(w, info, r->bytes, r->size, r->turn);
    }
    receive_ended(r);
}

static void receive_start(struct soak_worker *w, struct receiving *r, int source, bool short_ones)
{
    r->source = source;
    r->size = short_ones && soak_dice(w, 8) == 0 ? soak_dice(w, 4000) : 200000;
    r->bytes = job_new(r->size);
    r->persistent = soak_dice(w, 4) == 0;
    r->turn = ++w->tags->turns;
    if (r->persistent) {
        OK(tern_recv_create_masked(w->ctx, source, message_tag(w, 0), MASK, r->bytes, r->size, &r->request));
        OK(tern_request_start(r->request));
    } else {
        OK(tern_irecv_masked(w->ctx, source, message_tag(w, 0), MASK, r->bytes, r->size, &r->request));
    }
}

static void receive_cancel(struct soak_worker *w, struct receiving *r)
{
    tern_request_info info;
    tern_status       st = tern_request_cancel(&r->request, NULL);

    SOAK_COUNT(cancel);
    if (st == TERN_PENDING) {
        st = tern_request_wait(&r->request, TERN_FOREVER, &info);
        received(w, r, st, &info);
        return;
    }
    OK(st);
    receive_ended(r);
}

static void receive_step(struct soak_worker *w, int source)
{
    struct receiving *r = &w->tags->receives[soak_dice(w, RECEIVES)];
    tern_request_info info;
    tern_status       st;

    if (!r->request) {
        receive_start(w, r, soak_dice(w, 2) ? TERN_ANY_SOURCE : source, true);
        return;
    }
    st = tern_request_test(&r->request, &info);
    if (st != TERN_PENDING)
        received(w, r, st, &info);
    else if (soak_dice(w, 6) == 0)
        receive_cancel(w, r);
}

static void probe_step(struct soak_worker *w, int source)
{
    int               from = soak_dice(w, 2) ? TERN_ANY_SOURCE : source;
    tern_message     *message;
    tern_request_info info, again;
    tern_status       st;
    unsigned char    *bytes;

    SOAK_COUNT(probe);
    if (soak_dice(w, 2)) {
        st = tern_probe_masked(w->ctx, from, message_tag(w, 0), MASK, TERN_NOW, &info);
        if (st != TERN_PENDING && GOOD(from, st))
            SAME(w->tags->turn_of[info.source][(unsigned)info.tag % MESSAGES], 0);
        return;
    }
    st = tern_mprobe_masked(w->ctx, from, message_tag(w, 0), MASK, TERN_NOW, &message, &info);
    if (st == TERN_PENDING || !GOOD(from, st))
        return;
    bytes = job_new(info.len);
    if (GOOD(info.source, tern_mrecv(&message, bytes, info.len, &again))) {
        SAME(info.tag, again.tag);
        check_message(w, &again, bytes, info.len, ++w->tags->turns);
    }
    free(bytes);
}

/* ---- both ---- */

static void look_at_send(struct soak_worker *w)
{
    struct sending *s = &w->tags->sends[soak_dice(w, SENDS)];
    tern_status     st;

    if (!s->request || (st = tern_request_test(&s->request, NULL)) == TERN_PENDING)
        return;
    GOOD(s->to, st);
    send_ended(s);
}

void soak_tags_step(struct soak_worker *w)
{
    int rank = (int)soak_dice(w, (unsigned)tern_size());

    switch (soak_dice(w, 4)) {
    case 0:
        if (w->tags->sent[rank] < messages_between(tern_rank(), rank, w->id))
            send_next(w, rank);
        break;
    case 1: look_at_send(w); break;
    case 2: probe_step(w, rank); break;
    default: receive_step(w, rank);
    }
}

/* Start everything that can be started. Returns the number of outstanding requests. */
static size_t post_all(struct soak_worker *w, tern_request **requests, unsigned *places)
{
    struct soak_tags *t = w->tags;
    size_t            n = 0;
    int               from = 0;
    unsigned          posted[SOAK_RANKS] = { 0 };

    for (int to = 0; to < tern_size(); to++)
        while (t->sent[to] < messages_between(tern_rank(), to, w->id) && free_send(w))
            send_next(w, to);
    for (int i = 0; i < RECEIVES; i++)
        if (t->receives[i].request)
            posted[t->receives[i].source]++;
    for (int i = 0; i < RECEIVES; i++) {
        if (t->receives[i].request)
            continue;
        while (from < tern_size() && (posted[from] >= expected(w, from) || soak_dead(from)))
            from++;
        if (from == tern_size())
            break;
        receive_start(w, &t->receives[i], from, false);
        posted[from]++;
    }
    for (unsigned i = 0; i < SENDS; i++)
        if (t->sends[i].request) {
            places[n] = i;
            requests[n++] = t->sends[i].request;
        }
    for (unsigned i = 0; i < RECEIVES; i++)
        if (t->receives[i].request) {
            places[n] = SENDS + i;
            requests[n++] = t->receives[i].request;
        }
    return n;
}

/* Check that the messages of one source arrived in the order of the receives, and that those of living sources have all
 * arrived. */
static void check_order(struct soak_worker *w)
{
    for (int from = 0; from < tern_size(); from++) {
        uint64_t last = 0;

        if (!soak_dead(from))
            SAME(expected(w, from), 0);
        for (unsigned i = 0; i < messages_between(from, tern_rank(), w->id); i++) {
            uint64_t turn = w->tags->turn_of[from][i];

            if (turn == 0 && soak_dead(from))
                continue;
            CHECK(turn > last);
            last = turn;
        }
    }
}

/* The random receives name any source, and more of them may be posted than messages arrive: they are cancelled first.
 * Then the worker waits for any outstanding request until none is left. */
void soak_tags_finish(struct soak_worker *w)
{
    struct soak_tags *t = w->tags;
    tern_request     *requests[SENDS + RECEIVES];
    unsigned          places[SENDS + RECEIVES];
    tern_request_info info;
    size_t            n, index;

    for (int i = 0; i < RECEIVES; i++)
        if (t->receives[i].request)
            receive_cancel(w, &t->receives[i]);
    while ((n = post_all(w, requests, places)) > 0) {
        tern_status st = tern_request_wait_any(requests, n, TERN_FOREVER, &index, &info);

        CHECK(index < n);
        if (places[index] < SENDS) {
            t->sends[places[index]].request = requests[index];
            GOOD(t->sends[places[index]].to, st);
            send_ended(&t->sends[places[index]]);
        } else {
            struct receiving *r = &t->receives[places[index] - SENDS];

            r->request = requests[index];
            received(w, r, st, &info);
        }
    }
    check_order(w);
}

void soak_tags_open(struct soak_worker *w)
{
    w->tags = job_new(sizeof(*w->tags));
}

void soak_tags_close(struct soak_worker *w)
{
    free(w->tags);
}

/* notes.c: puts with signals, notified accesses and their requests, active messages and their replies.
 *
 * The seed of the epoch determines how many of each a worker sends to the worker with the same number at each rank, and
 * their contents. The receiver checks each one when it arrives: the data of a notification or signal is there, no
 * notification arrives twice, and active messages arrive in order. At the end it checks that all have arrived.
 *
 * In some epochs the notification requests are started before anything is sent, and notified accesses may block. In
 * others notifications arrive unexpected, more than a rank may store, so notified accesses must not block: they are
 * retried later.
 */
#include "soak.h"

#define NOTES 24 /* from one worker to another, at most */
#define NOTE_BYTES 512u
#define SIGNALS 12
#define SIGNAL_BYTES 64u
#define LONG_BYTES 1024u /* of a long active message */
#define ASK 1u
#define ANSWER 2u

struct soak_notes {
    unsigned            sent[SOAK_RANKS]; /* notified accesses */
    uint32_t            seen[SOAK_RANKS]; /* a bit for each notification */
    tern_request       *requests[SOAK_RANKS];
    tern_request       *any;
    bool                started[SOAK_RANKS], any_started;
    unsigned            signals[SOAK_RANKS]; /* sent */
    uint32_t            asked[SOAK_RANKS];
    unsigned char      *out; /* [ranks][NOTES][NOTE_BYTES]: what is put */
    unsigned char      *sink;
    unsigned char      *payload;
    struct soak_worker *worker;
};

static uint32_t         next_ask[SOAK_RANKS][SOAK_THREADS]; /* handlers only, never two at a time */
static _Atomic uint32_t answered[SOAK_THREADS][SOAK_RANKS];

/* ---- notifications ---- */

static unsigned notes_between(int from, int to, int thread)
{
    return (unsigned)(soak_hash(10, from, to, thread, 0) % (NOTES + 1));
}

enum note_form { NOTE_ONLY, NOTE_GET, NOTE_ACC, NOTE_VECTOR, NOTE_PUT };

static enum note_form note_form(int from, int to, int thread, unsigned number)
{
    uint64_t form = soak_hash(11, from, to, thread, number) % 10;

    return form < NOTE_PUT ? (enum note_form)form : NOTE_PUT;
}

static size_t note_len(int from, int to, int thread, unsigned number)
{
    uint64_t       hash = soak_hash(12, from, to, thread, number);
    size_t         len = hash % 3 == 0 ? hash / 3 % (NOTE_BYTES + 1) : hash / 3 % 33;
    enum note_form form = note_form(from, to, thread, number);

    return form == NOTE_ONLY ? 0 : form == NOTE_ACC ? len & ~(size_t)7 : len;
}

static uint64_t note_at(int from, unsigned number)
{
    return ((uint64_t)from * NOTES + number) * NOTE_BYTES;
}

static unsigned char note_byte(int from, int thread, unsigned number, size_t at)
{
    return job_byte((unsigned)(from * SOAK_THREADS + thread), number + soak_epoch.number, at);
}

/* Check a notification: it was sent, has not arrived before, and its data is here. */
static void check_note(struct soak_worker *w, int from, unsigned number, uint64_t bytes)
{
    const unsigned char *mine = soak_epoch.notes[w->id].mine + note_at(from, number);
    size_t               len = note_len(from, tern_rank(), w->id, number);

    CHECK(number < notes_between(from, tern_rank(), w->id));
    CHECK((w->notes->seen[from] >> number & 1) == 0);
    w->notes->seen[from] |= 1u << number;
    SAME(bytes, len);
    if (note_form(from, tern_rank(), w->id, number) != NOTE_GET)
        for (size_t i = 0; i < len; i++)
            SAME(mine[i], note_byte(from, w->id, number, i));
}

static unsigned notes_seen(const struct soak_worker *w, int from)
{
    return (unsigned)__builtin_popcount(w->notes->seen[from]);
}

static tern_status note_with(struct soak_worker *w, int to, unsigned number, const tern_opts *opts)
{
    struct soak_notes *n = w->notes;
    tern_region       *region = soak_epoch.notes[w->id].region;
    size_t             len = note_len(tern_rank(), to, w->id, number);
    uint64_t           at = note_at(tern_rank(), number);
    unsigned char     *bytes = n->out + ((size_t)to * NOTES + number) * NOTE_BYTES;
    tern_opts          sum = *opts;

    for (size_t i = 0; i < len; i++)
        bytes[i] = note_byte(tern_rank(), w->id, number, i);
    switch (note_form(tern_rank(), to, w->id, number)) {
    case NOTE_GET: return tern_get_with(w->ctx, region, to, at, n->sink, len, opts);
    case NOTE_ACC: /* to zeros */
        sum.acc = &TERN_ACC_ARGS(.type = TERN_UINT64);
        return tern_acc_with(w->ctx, region, to, at, bytes, len, &sum);
    case NOTE_VECTOR: {
        const tern_piece  pieces[] = { { bytes, len / 3 }, { bytes + len / 3, len - len / 3 } };
        const tern_extent extents[] = { { at, len / 2 }, { at + len / 2, len - len / 2 } };

        return tern_put_vector_with(
            w->ctx, region, to, &TERN_VECTOR(.local_count = 2, .local = pieces, .remote_count = 2, .remote = extents),
            opts);
    }
    default: return tern_put_with(w->ctx, region, to, at, bytes, len, opts);
    }
}

/* Send the next notification to a rank. Returns false if there is no space for it now. */
static bool note_send(struct soak_worker *w, int to)
{
    struct soak_notes *n = w->notes;
    unsigned           number = n->sent[to];
    tern_event         event = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.flags = TERN_NOTIFY | (soak_epoch.unexpected || soak_dice(w, 2) ? TERN_IMMEDIATE : 0),
                                 .event = soak_dice(w, 2) ? &event : NULL, .tag = number);
    tern_status st;

    SOAK_COUNT(notify);
    if (!soak_epoch.unexpected && note_form(tern_rank(), to, w->id, number) == NOTE_ONLY && soak_dice(w, 2)) {
        GOOD(to, tern_notify(w->ctx, soak_epoch.notes[w->id].region, to, number));
        n->sent[to]++;
        return true;
    }
    st = note_with(w, to, number, &opts);
    if (st == TERN_AGAIN)
        return false;
    n->sent[to]++;
    if (GOOD(to, st) && opts.event)
        GOOD(to, tern_event_wait(&event, TERN_FOREVER));
    return true;
}

/* Cancel a request, unless it has matched: the progress of another thread may deliver a notification at any time. */
static bool note_cancel(struct soak_worker *w, tern_request *request)
{
    tern_request_info info;
    tern_status       st = tern_request_cancel(&request, &info);

    SOAK_COUNT(cancel);
    if (st == TERN_OK) {
        SAME(info.matches, 0);
        return true;
    }
    RETURNS(TERN_PENDING, st);
    OK(tern_request_test(&request, &info));
    check_note(w, info.source, (unsigned)info.tag, info.len);
    return false;
}

/* Poll one request in an epoch where notifications arrive unexpected; each request matches one. */
static void note_look(struct soak_worker *w, int from)
{
    struct soak_notes *n = w->notes;
    tern_request      *request = from < 0 ? n->any : n->requests[from];
    bool              *started = from < 0 ? &n->any_started : &n->started[from];
    tern_request_info  info;
    tern_status        st;

    SOAK_COUNT(request);
    if (!*started) {
        if (soak_dice(w, 4) == 0 && (st = tern_notify_probe(request, &info)) != TERN_PENDING) {
            OK(st);
            CHECK((n->seen[info.source] >> info.tag & 1) == 0);
        }
        OK(tern_request_start(request));
        *started = true;
    }
    st = tern_request_test(&request, &info);
    if (st == TERN_PENDING) {
        if (soak_dice(w, 4) == 0) {
            note_cancel(w, request);
            *started = false;
        }
        return;
    }
    if (!GOOD(from, st))
        return;
    *started = false;
    check_note(w, info.source, (unsigned)info.tag, info.len);
}

static bool all_noted(struct soak_worker *w)
{
    for (int rank = 0; rank < tern_size(); rank++)
        if (notes_seen(w, rank) < notes_between(rank, tern_rank(), w->id) && !soak_dead(rank))
            return false;
    return true;
}

static bool notes_all_sent(struct soak_worker *w)
{
    for (int to = 0; to < tern_size(); to++)
        if (w->notes->sent[to] < notes_between(tern_rank(), to, w->id) && !soak_dead(to))
            return false;
    return true;
}

static void notes_send_rest(struct soak_worker *w)
{
    for (int to = 0; to < tern_size(); to++)
        while (w->notes->sent[to] < notes_between(tern_rank(), to, w->id) && !soak_dead(to))
            if (!note_send(w, to))
                break;
}

/* Wait for all notifications in an epoch whose requests have counts. */
static void notes_posted_finish(struct soak_worker *w)
{
    struct soak_notes *n = w->notes;

    while (!notes_all_sent(w))
        notes_send_rest(w);
    for (int from = 0; from < tern_size(); from++) {
        unsigned          count = notes_between(from, tern_rank(), w->id);
        tern_request_info info;

        if (count == 0 || !GOOD(from, tern_request_wait(&n->requests[from], TERN_FOREVER, &info)))
            continue;
        SAME(info.source, from);
        SAME(info.matches, count);
        for (unsigned i = 0; i < count; i++)
            check_note(w, from, i, note_len(from, tern_rank(), w->id, i));
    }
}

/* No thread may sleep on one request while others would have to match the stored notifications, so each thread polls
 * all of them. When everything is sent, only the wildcard request is left, and can be waited for. */
static void notes_unexpected_finish(struct soak_worker *w)
{
    struct soak_notes *n = w->notes;
    tern_request_info  info;

    for (int from = 0; from < tern_size(); from++) {
        if (n->started[from])
            note_cancel(w, n->requests[from]);
        n->started[from] = false;
    }
    while (!notes_all_sent(w)) {
        notes_send_rest(w);
        note_look(w, -1);
        sched_yield();
    }
    while (!all_noted(w)) {
        tern_status st;

        if (!n->any_started)
            OK(tern_request_start(n->any));
        n->any_started = true;
        st = tern_request_wait(&n->any, soak_deaths ? tern_deadline_in(0.2) : TERN_FOREVER, &info);
        if ((st == TERN_ERR_TIMEOUT && soak_deaths) || !GOOD(-1, st))
            continue;
        n->any_started = false;
        check_note(w, info.source, (unsigned)info.tag, info.len);
    }
}

/* ---- signals ---- */

static unsigned signals_between(int from, int to, int thread)
{
    return (unsigned)(soak_hash(20, from, to, thread, 0) % (SIGNALS + 1));
}

static uint64_t signal_word(int from, int thread)
{
    return ((uint64_t)from * SOAK_THREADS + (uint64_t)thread) * 8;
}

static uint64_t signal_at(int from, int thread, unsigned number)
{
    return (uint64_t)SOAK_RANKS * SOAK_THREADS * 8 +
           (((uint64_t)from * SOAK_THREADS + (uint64_t)thread) * SIGNALS + number) * SIGNAL_BYTES;
}

static void signal_send(struct soak_worker *w, int to)
{
    unsigned      number = w->notes->signals[to]++;
    size_t        len = (size_t)(soak_hash(21, tern_rank(), to, w->id, number) % (SIGNAL_BYTES + 1));
    uint64_t      at = signal_at(tern_rank(), w->id, number);
    unsigned char bytes[SIGNAL_BYTES];
    tern_signal   signal = TERN_SIGNAL(.region = soak_epoch.signals.region, .offset = signal_word(tern_rank(), w->id),
                                       .value = 1, .op = TERN_SIGNAL_ADD);
    tern_event    event = TERN_EVENT_INIT;

    SOAK_COUNT(signal);
    for (size_t i = 0; i < len; i++)
        bytes[i] = note_byte(tern_rank(), w->id, number, i);
    switch (soak_dice(w, 3)) {
    case 0: GOOD(to, tern_put_signal(w->ctx, soak_epoch.signals.region, to, at, bytes, len, &signal)); break;
    case 1:
        if (GOOD(to, tern_put_with(w->ctx, soak_epoch.signals.region, to, at, bytes, len,
                                   &TERN_OPTS(.signal = &signal, .event = &event))))
            GOOD(to, tern_event_wait(&event, TERN_FOREVER));
        break;
    default:
        GOOD(to, tern_put_signal_nbi(w->ctx, soak_epoch.signals.region, to, at, bytes, len, &signal));
        GOOD(-1, tern_quiet(w->ctx));
    }
}

/* Check that the data of all signals that the word counts is here: each was complete before the next was sent. */
static void signals_check(struct soak_worker *w, int from, uint64_t seen)
{
    CHECK(seen <= signals_between(from, tern_rank(), w->id));
    for (unsigned number = 0; number < seen; number++) {
        const unsigned char *mine = soak_epoch.signals.mine + signal_at(from, w->id, number);
        size_t               len = (size_t)(soak_hash(21, from, tern_rank(), w->id, number) % (SIGNAL_BYTES + 1));

        for (size_t i = 0; i < len; i++)
            SAME(mine[i], note_byte(from, w->id, number, i));
    }
}

static void signal_look(struct soak_worker *w, int from)
{
    uint64_t    seen = 0;
    tern_status st = tern_signal_test(w->ctx, soak_epoch.signals.region, signal_word(from, w->id), TERN_GE, 1, &seen);

    CHECK(st == TERN_OK || st == TERN_PENDING);
    signals_check(w, from, seen);
}

static void signals_finish(struct soak_worker *w)
{
    for (int to = 0; to < tern_size(); to++)
        while (w->notes->signals[to] < signals_between(tern_rank(), to, w->id))
            signal_send(w, to);
    for (int from = 0; from < tern_size(); from++) {
        uint64_t    count = signals_between(from, tern_rank(), w->id), seen = 0;
        tern_status st;

        do
            st = tern_signal_wait(w->ctx, soak_epoch.signals.region, signal_word(from, w->id), TERN_GE, count,
                                  soak_deaths ? tern_deadline_in(0.2) : TERN_FOREVER, &seen);
        while (st == TERN_ERR_TIMEOUT && soak_deaths && !soak_dead(from));
        if (st == TERN_OK)
            signals_check(w, from, seen);
        else
            CHECK(st == TERN_ERR_TIMEOUT && soak_deaths);
    }
}

/* ---- active messages ---- */

static uint32_t sum(const unsigned char *at, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ at[i]) * 16777619u;
    return h;
}

static void on_ask(const tern_am_event *event, void *user)
{
    uint32_t thread = event->args[0];
    tern_am  am = TERN_AM(.kind = event->kind == TERN_AM_MEDIUM ? TERN_AM_MEDIUM : TERN_AM_SHORT, .handler = ANSWER,
                          .nargs = 3, .args = event->args);

    (void)user;
    CHECK(thread < SOAK_THREADS);
    SAME(event->args[1], next_ask[event->source][thread]);
    next_ask[event->source][thread]++;
    if (event->kind != TERN_AM_SHORT)
        SAME(event->args[2], sum(event->payload, event->len));
    if (event->kind == TERN_AM_MEDIUM)
        am.payload = event->payload, am.len = event->len;
    SOAK_COUNT(reply);
    GOOD(event->source, tern_am_reply(event->token, &am));
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(event->args[0] < SOAK_THREADS);
    SAME(event->args[1], answered[event->args[0]][event->source]);
    if (event->kind == TERN_AM_MEDIUM)
        SAME(event->args[2], sum(event->payload, event->len));
    answered[event->args[0]][event->source]++;
}

void soak_notes_register(void)
{
    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
}

static bool answers_are_here(void *worker)
{
    struct soak_worker *w = worker;

    for (int rank = 0; rank < tern_size(); rank++)
        if (answered[w->id][rank] < w->notes->asked[rank] && !soak_dead(rank))
            return false;
    return true;
}

/* Write the payload directly into the message. Returns the status of tern_am_commit. */
static tern_status ask_prepared(struct soak_worker *w, int to, size_t len, uint32_t *args)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 3, .max = len);
    tern_am_prepared     out;
    tern_status          st = tern_am_prepare(w->ctx, to, &opts, &out);

    if (st != TERN_OK)
        return st;
    memcpy(out.addr, w->notes->payload, out.len);
    args[2] = sum(w->notes->payload, out.len);
    return tern_am_commit(&out, ASK, args, 3, out.len);
}

static void ask(struct soak_worker *w, int to)
{
    struct soak_notes *n = w->notes;
    size_t             most = tern_am_max_medium(w->ctx, to, 3), len = soak_dice(w, soak_dice(w, 8) ? 200 : 8000);
    uint32_t           args[3] = { (uint32_t)w->id, n->asked[to], 0 };
    tern_am            am = TERN_AM(.kind = (tern_am_kind)soak_dice(w, 3), .handler = ASK, .nargs = 3, .args = args);

    SOAK_COUNT(am);
    len = len < most ? len : most;
    job_fill(n->payload, len, (unsigned)tern_rank(), n->asked[to]);
    if (am.kind == TERN_AM_MEDIUM && soak_dice(w, 3) == 0) {
        if (GOOD(to, ask_prepared(w, to, len, args)))
            n->asked[to]++;
        return;
    }
    if (am.kind == TERN_AM_LONG) { /* one at a time: they share one place */
        OK(tern_wait_until(w->ctx, answers_are_here, w, TERN_FOREVER));
        len = len < LONG_BYTES ? len : LONG_BYTES;
        am.region = soak_epoch.am.region;
        am.offset = ((uint64_t)tern_rank() * SOAK_THREADS + (uint64_t)w->id) * LONG_BYTES;
    }
    if (am.kind != TERN_AM_SHORT) {
        am.payload = n->payload;
        am.len = len;
        args[2] = sum(n->payload, len);
    }
    if (GOOD(to, tern_am_request(w->ctx, to, &am)))
        n->asked[to]++;
}

/* ---- all of them ---- */

void soak_notes_step(struct soak_worker *w)
{
    int rank = (int)soak_dice(w, (unsigned)tern_size());

    switch (soak_dice(w, 6)) {
    case 0:
    case 1:
        if (w->notes->sent[rank] < notes_between(tern_rank(), rank, w->id) && !soak_dead(rank))
            note_send(w, rank);
        break;
    case 2:
        if (soak_epoch.unexpected)
            note_look(w, soak_dice(w, 3) ? rank : -1);
        break;
    case 3:
        if (w->notes->signals[rank] < signals_between(tern_rank(), rank, w->id))
            signal_send(w, rank);
        break;
    case 4: signal_look(w, rank); break;
    default: ask(w, rank);
    }
}

void soak_notes_finish(struct soak_worker *w)
{
    if (soak_epoch.unexpected)
        notes_unexpected_finish(w);
    else
        notes_posted_finish(w);
    signals_finish(w);
    OK(tern_wait_until(w->ctx, answers_are_here, w, TERN_FOREVER));
    GOOD(-1, tern_quiet(w->ctx));
}

void soak_notes_size(uint64_t *note_bytes, uint64_t *signal_bytes, uint64_t *am_bytes)
{
    *note_bytes = note_at(SOAK_RANKS, 0);
    *signal_bytes = signal_at(SOAK_RANKS, 0, 0);
    *am_bytes = (uint64_t)SOAK_RANKS * SOAK_THREADS * LONG_BYTES;
}

void soak_notes_open(struct soak_worker *w)
{
    struct soak_notes *n = w->notes = job_new(sizeof(*n));
    tern_region       *region = soak_epoch.notes[w->id].region;

    n->out = job_new((size_t)tern_size() * NOTES * NOTE_BYTES);
    n->sink = job_new(NOTE_BYTES);
    n->payload = job_new(8192);
    for (int rank = 0; rank < tern_size(); rank++) {
        n->asked[rank] = answered[w->id][rank];
        unsigned count = notes_between(rank, tern_rank(), w->id);

        OK(tern_notify_create(w->ctx, region, rank, TERN_ANY_TAG, soak_epoch.unexpected || count == 0 ? 1 : count,
                              &n->requests[rank]));
        if (!soak_epoch.unexpected && count > 0)
            OK(tern_request_start(n->requests[rank]));
    }
    OK(tern_notify_create(w->ctx, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &n->any));
}

void soak_notes_close(struct soak_worker *w)
{
    struct soak_notes *n = w->notes;

    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_request_free(&n->requests[rank]));
    OK(tern_request_free(&n->any));
    free(n->out);
    free(n->sink);
    free(n->payload);
    free(n);
}

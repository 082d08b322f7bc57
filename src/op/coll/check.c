/* check.c: see check.h. In debug builds, every rank receives the descriptions of the calls of all ranks in log2 rounds,
 * whatever its own call is. These messages have a tag that depends only on the number of the call on the team. */
#include "op/coll/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "core/collective.h"
#include "core/job.h"
#include "op/coll/board.h"
#include "op/coll/tag.h"
#include "op/tagged/tagged.h"

/* ---- what ranks say ---- */

struct tern_coll_says tern_op_coll_says(const struct tern_coll_args *args)
{
    return (struct tern_coll_says){ .digest = args->digest,
                                    .amount = args->amount,
                                    .elem = args->how.elem,
                                    .own = args->len,
                                    .root = args->root,
                                    .kind = args->how.kind,
                                    .call = args->call,
                                    .blocks = args->blocks };
}

static const char *form_of(const struct tern_coll_says *says)
{
    return says->blocks ? "" : "_with";
}

static const char *unit_of(const struct tern_coll_says *says)
{
    bool counts = says->elem > 0 && says->call != TERN_COLL_REDUCE_SCATTERV;

    return counts || says->call == TERN_COLL_ALLTOALLS ? "elements" : "bytes";
}

static void differ_in_kind(const struct tern_coll_pair *pair, char *text, size_t size)
{
    char theirs[96], mine[96];

    tern_op_coll_kind_text(pair->theirs->kind, theirs, sizeof(theirs));
    tern_op_coll_kind_text(pair->mine->kind, mine, sizeof(mine));
    snprintf(text, size, "%s: rank %d of the team passed %s, and this rank, %d, %s; all ranks pass the same",
             pair->what, pair->rank, theirs, pair->me, mine);
}

/* These fields describe amounts, sizes of elements or lengths of blocks. They differ, or may be unknown. */
static void differ_in_amount(const struct tern_coll_pair *pair, char *text, size_t size)
{
    const struct tern_coll_says *mine = pair->mine, *theirs = pair->theirs;

    if (theirs->unknown & TERN_COLL_SAYS_AMOUNT)
        snprintf(text, size,
                 "%s: rank %d of the team passed another length than this rank, %d, which passed %llu %s (a message of "
                 "the other has %zu bytes); all ranks pass the same",
                 pair->what, pair->rank, pair->me, (unsigned long long)mine->amount, unit_of(mine), pair->message);
    else if (theirs->amount != mine->amount)
        snprintf(text, size, "%s: rank %d of the team passed %llu %s, and this rank, %d, %llu; all ranks pass the same",
                 pair->what, pair->rank, (unsigned long long)theirs->amount, unit_of(mine), pair->me,
                 (unsigned long long)mine->amount);
    else if (theirs->elem != mine->elem && theirs->elem > 0)
        snprintf(text, size,
                 "%s: rank %d of the team passed elements of %llu bytes, and this rank, %d, of %llu; all ranks pass "
                 "the same",
                 pair->what, pair->rank, (unsigned long long)theirs->elem, pair->me, (unsigned long long)mine->elem);
    else
        snprintf(text, size,
                 "%s: rank %d of the team passed other lengths of blocks, or elements of another size, than this rank, "
                 "%d; all ranks pass the same",
                 pair->what, pair->rank, pair->me);
}

void tern_op_coll_differ(const struct tern_coll_pair *pair, char *text, size_t size)
{
    const struct tern_coll_says *mine = pair->mine, *theirs = pair->theirs;

    if (theirs->call != mine->call || theirs->blocks != mine->blocks)
        snprintf(text, size,
                 "%s: rank %d of the team called %s%s, and this rank, %d, %s%s; all ranks of a team make the same "
                 "collective calls in the same order",
                 pair->what, pair->rank, tern_op_coll_name(theirs->call), form_of(theirs), pair->me,
                 tern_op_coll_name(mine->call), form_of(mine));
    else if (theirs->unknown & TERN_COLL_SAYS_ROOT && theirs->kind == mine->kind)
        snprintf(text, size,
                 "%s: rank %d of the team passed another root or length than this rank, %d, which passed root %d; all "
                 "ranks pass the same",
                 pair->what, pair->rank, pair->me, mine->root);
    else if (theirs->root != mine->root && !(theirs->unknown & TERN_COLL_SAYS_ROOT))
        snprintf(text, size,
                 "%s: rank %d of the team passed root %d, and this rank, %d, root %d; all ranks pass the same",
                 pair->what, pair->rank, theirs->root, pair->me, mine->root);
    else if (theirs->kind != mine->kind)
        differ_in_kind(pair, text, size);
    else
        differ_in_amount(pair, text, size);
}

/* ---- searching ---- */

#define WARNING 240u /* longest text of a rank that has given up, in bytes */

/* Read the text of a member that has given up. Its message has arrived. */
static void read_warning(struct tern_coll *c, const tern_request_info *info, char *text, size_t size)
{
    struct tern_request *request = tern_op_request_new(c->station->ctx, TERN_REQUEST_RECV);

    text[0] = '\0';
    if (!request)
        return;
    request->peer = tern_core_team_world(c->station->team, info->source);
    request->class = 0;
    request->match.tag = (uint64_t)info->tag;
    request->match.care = UINT64_MAX;
    request->buffer = text;
    request->size = size - 1;
    if (!tern_op_tagged_start_recv(request, true))
        ; /* without memory the error has no text */
    else if (tern_op_request_state(request) == TERN_REQUEST_DONE)
        text[request->len < size ? request->len : size - 1] = '\0';
    else
        tern_op_request_cancel(request); /* never happens: warnings travel with their data */
    tern_op_request_drop(request);
}

/* Look for a member that has given up this call. */
static bool find_warning(struct tern_coll *c)
{
    struct tern_match_name name = { .scope = c->station->group.id,
                                    .tag = tag_special(c->tag, TAG_GIVES_UP),
                                    .class = TERN_MATCH_BITS_ANY_SOURCE };
    tern_request_info      info;
    char                   text[WARNING + 1];

    if (tern_op_tagged_find(c->station->ctx, &name, UINT64_MAX, &info, NULL) != TERN_OK)
        return false;
    read_warning(c, &info, text, sizeof(text));
    tern_op_coll_fail(c, TERN_ERR_ARG, "%s: rank %d of the team has given up this call%s%s", c->op.call, info.source,
                      *text ? ": " : ", because of an error there", text);
    return true;
}

/* Look for messages of a member that belong to another call. */
static void find_other_call(struct tern_coll *c, int member)
{
    struct tern_match_name name = { .scope = c->station->group.id,
                                    .tag = c->tag,
                                    .source = tern_core_team_world(c->station->team, member),
                                    .class = TERN_MATCH_BITS };
    tern_request_info      info;
    struct tern_coll_says  theirs;
    char                   text[sizeof(c->detail)];

    if (tern_op_tagged_find(c->station->ctx, &name, TAG_NUMBER, &info, NULL) != TERN_OK ||
        (uint64_t)info.tag == c->tag || tag_call((uint64_t)info.tag) >= TAG_COMPARES)
        return;
    theirs = tag_read((uint64_t)info.tag);
    tern_op_coll_differ(&(struct tern_coll_pair){ c->op.call, &c->says, &theirs, c->rank, member, info.len }, text,
                        sizeof(text));
    tern_op_coll_fail(c, TERN_ERR_ARG, "%s", text);
}

void tern_op_coll_search(struct tern_coll *c)
{
    struct tern_match_name any = { .scope = c->station->group.id, .tag = c->tag, .class = TERN_MATCH_BITS_ANY_SOURCE };
    tern_request_info      info;

    tern_op_board_compare(c);
    if (c->status < 0 || tern_op_tagged_find(c->station->ctx, &any, TAG_NUMBER, &info, NULL) != TERN_OK ||
        find_warning(c))
        return;
    for (int i = 0; i < c->size && c->status == TERN_OK; i++)
        if (i != c->rank)
            find_other_call(c, i);
}

static void send_warning(struct tern_station *station, int peer, uint64_t tag, void *text, size_t len)
{
    struct tern_request *request;

    if (tern_op_tagged_send_now(station->ctx, peer, tag, text, len) != TERN_AGAIN ||
        !(request = tern_op_request_new(station->ctx, TERN_REQUEST_SEND)))
        return;
    request->peer = peer;
    request->class = 0;
    request->match.tag = tag;
    request->match.care = UINT64_MAX;
    request->buffer = text;
    request->size = len;
    if (tern_op_tagged_start_send(request) < 0)
        tern_op_request_drop(request);
    else
        tern_op_request_leave(request);
}

void tern_op_coll_warn(struct tern_station *station, uint32_t number, const char *why)
{
    const struct tern_team *team = station->team;
    uint64_t                tag = tag_special(number, TAG_GIVES_UP);
    struct tern_coll_temp  *temp = aligned_alloc(64, 64 + (WARNING + 63) / 64 * 64); /* the messages may be queued */
    const char             *text = strstr(why, ": ") ? strstr(why, ": ") + 2 : why;  /* without the name of the call */
    size_t                  len = strnlen(text, WARNING);

    if (!temp || len > (size_t)tern_opt.msg_eager) /* receivers read the text at once, so the message must carry it */
        len = 0;
    if (temp) {
        memcpy(temp->bytes, text, len);
        temp->next = station->debris;
        station->debris = temp;
    }
    for (int i = 1; i < team->size; i++) {
        int peer = tern_core_team_world(team, (team->rank + i) % team->size);

        if (!tern_core_job_lost(peer))
            send_warning(station, peer, tag, temp ? temp->bytes : NULL, len);
    }
}

bool tern_op_coll_has_started(const struct tern_station *station, int member, struct tern_coll_says *says)
{
    struct tern_match_name name = { .scope = station->group.id,
                                    .tag = (station->number + 1) & TAG_NUMBER,
                                    .source = tern_core_team_world(station->team, member),
                                    .class = TERN_MATCH_BITS };
    tern_request_info      info;

    if (tern_op_tagged_find(station->ctx, &name, TAG_NUMBER, &info, NULL) != TERN_OK ||
        tag_call((uint64_t)info.tag) >= TAG_COMPARES)
        return false;
    if (says)
        *says = tag_read((uint64_t)info.tag);
    return true;
}

void tern_op_coll_quit(struct tern_station *station, const char *why)
{
    if (station->quit)
        return;
    station->quit = true;
    tern_op_board_quit(station, station->meeting + 1);
    pthread_mutex_lock(&station->lock);
    tern_op_coll_warn(station, station->number + 1, why);
    pthread_mutex_unlock(&station->lock);
}

_Static_assert(TERN_COLLECTIVE_COUNT - TERN_COLLECTIVE_SYNC == (int)TERN_COLL_COUNT, "both lists have the same calls");

void tern_op_coll_let_fail(struct tern_station *station, struct tern_ctx *ctx, unsigned call)
{
    const char *other;
    bool        any = false;

    for (int i = 0; i < station->team->size && !any; i++)
        any = tern_op_board_elsewhere(station, i, &other);
    if (any) /* make these ranks fail: they are in a call that this rank does not make */
        tern_core_team_gather(station->team, NULL, 0, NULL, tern_core_ctx_deadline(ctx), TERN_COLLECTIVE_SYNC + call);
}

/* ---- debug builds ---- */

/* Return the list of the lengths of all ranks' own blocks, if this rank passes one. */
static const struct tern_coll_blocks *list_of(const struct tern_coll *c, const struct tern_coll_args *args)
{
    switch (args->call) {
    case TERN_COLL_ALLGATHERV: return &args->to;
    case TERN_COLL_REDUCE_SCATTERV: return &args->from;
    case TERN_COLL_GATHERV: return c->rank == c->root ? &args->to : NULL;
    case TERN_COLL_SCATTERV: return c->rank == c->root ? &args->from : NULL;
    default: return NULL;
    }
}

/* The comparison has the descriptions of all ranks, in the order of the distance from this rank, and behind them, for
 * each rank, the length that this rank expects of its own block; UINT64_MAX: any length. */
void tern_op_coll_write_check(struct tern_coll *c, const struct tern_coll_args *args)
{
    const size_t                   len = sizeof(struct tern_coll_says), size = (size_t)c->size;
    struct tern_coll_says         *says = (struct tern_coll_says *)(void *)tern_coll_temp(c, size * (len + 8));
    const struct tern_coll_blocks *list = list_of(c, args);
    struct tern_coll_step         *step;
    uint64_t                      *expected;
    uint32_t                       first = c->steps;

    if (c->status < 0)
        return;
    says[0] = c->says;
    expected = (uint64_t *)(void *)(says + c->size);
    for (int have = 1; have < c->size; have *= 2) {
        int n = c->size - have < have ? c->size - have : have;

        tern_coll_recv(c, (c->rank + have) % c->size, says + have, (size_t)n * len);
        tern_coll_send(c, (c->rank + c->size - have) % c->size, says, (size_t)n * len);
        tern_coll_wait(c);
    }
    for (int i = 0; i < c->size; i++)
        expected[i] = list ? list->len[i] : UINT64_MAX;
    tern_coll_copy(c, says, says + 1, len); /* becomes the comparison */
    for (step = c->step + first; c->status == TERN_OK && step < c->step + c->steps; step++)
        step->checks = true;
    if (c->status == TERN_OK)
        c->step[c->steps - 1].kind = TERN_COLL_COMPARE;
}

tern_status tern_op_coll_check_first(struct tern_station *station, struct tern_ctx *ctx,
                                     const struct tern_coll_args *args, tern_status (*run)(struct tern_coll *c))
{
    struct tern_coll *c = tern_op_coll_new(station, ctx, args);
    tern_status       st;

    if (!c)
        return TERN_ERR_NOMEM;
    c->algorithm = "comparing";
    if (c->size > 1)
        tern_op_coll_write_check(c, args);
    tern_op_board_enter(station, args); /* so that ranks in other calls are found */
    st = run(c);
    tern_op_board_leave(station);
    return st;
}

void tern_op_coll_compare(struct tern_coll *c, const struct tern_coll_step *step)
{
    const struct tern_coll_says *says = (const struct tern_coll_says *)(const void *)step->to;
    const uint64_t              *expected = (const uint64_t *)(const void *)(says + c->size);
    char                         text[sizeof(c->detail)];

    for (int i = 1; i < c->size && c->status == TERN_OK; i++) {
        const struct tern_coll_says *theirs = &says[i];
        int                          rank = (c->rank + i) % c->size;
        bool same = theirs->call == says->call && theirs->blocks == says->blocks && theirs->root == says->root;

        if (same && expected[rank] != UINT64_MAX && theirs->own != expected[rank])
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team passed a block of %llu bytes, but this rank, %d, lists %llu for "
                              "it; the lengths of all ranks must match",
                              c->op.call, rank, (unsigned long long)theirs->own, c->rank,
                              (unsigned long long)expected[rank]);
        if (c->status < 0 || (same && theirs->kind == says->kind && theirs->digest == says->digest))
            continue;
        tern_op_coll_differ(&(struct tern_coll_pair){ c->op.call, says, theirs, c->rank, rank, 0 }, text, sizeof(text));
        tern_op_coll_fail(c, TERN_ERR_ARG, "%s", text);
    }
}

/* flow.c: streams of messages that carry the notes of a circle's members.
 *
 * A message is as long as the link lets it be and holds whole pieces, each of which says where it belongs, so every
 * message can be understood, and checked, by itself; links keep the order, so the last one is last. Streams go by the
 * channel of replies, on which no message of the program stays open, and are sent by the thread that holds the delivery
 * of messages, like replies. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "core/circle.h"
#include "core/job.h"

/* ---- notes ---- */

static __attribute__((cold, noreturn)) void no_memory(size_t bytes)
{
    tern_base_log(TERN_LOG_ERROR,
                  "no memory for %zu bytes of what other ranks say in a collective call; ending the job", bytes);
    _Exit(1); /* the others wait for what this rank would pass on */
}

static void note_grow(struct circle_note *note, uint32_t room)
{
    unsigned char *bytes;

    if (note->room >= room)
        return;
    bytes = realloc(note->bytes, room);
    if (!bytes)
        no_memory(room);
    memset(bytes + note->room, 0, room - note->room);
    note->bytes = bytes;
    note->room = room;
}

void tern_core_flow_note(struct circle *circle, uint32_t barrier, const struct core_piece *piece, const void *bytes)
{
    struct circle_note *note = &circle->notes[barrier & 1][piece->member];

    note_grow(note, piece->whole);
    memcpy(note->bytes + piece->at, bytes, piece->len);
    note->len = piece->whole;
    note->barrier = barrier;
}

void tern_core_flow_round_up(struct circle *circle, uint32_t barrier, uint32_t bytes)
{
    for (uint32_t i = 0; i < circle->base.size; i++)
        note_grow(&circle->notes[barrier & 1][i], bytes);
}

/* ---- going out ---- */

/* The next member of the stream whose note there is to send, or what is left of it; NULL: none. */
static const struct circle_note *next_note(const struct circle *circle, struct circle_outflow *out, uint32_t *member)
{
    uint32_t barrier = tern_core_circle_barrier(circle);

    for (; out->done < out->count; out->done++) {
        const struct circle_note *note;

        *member = circle->order[(out->first + out->done) % circle->base.size];
        note = &circle->notes[barrier & 1][*member];
        if (note->barrier == barrier && note->len > out->at)
            return note;
        out->at = 0;
    }
    return NULL;
}

/* Bytes of data that the rest of the stream needs, but not more than most. */
static size_t bytes_left(const struct circle *circle, const struct circle_outflow *out, size_t most)
{
    struct circle_outflow     rest = *out;
    const struct circle_note *note;
    uint32_t                  member;
    size_t                    bytes = 0;

    while (bytes < most && (note = next_note(circle, &rest, &member)) != NULL) {
        bytes += core_piece_bytes(note->len - rest.at);
        rest.done++;
        rest.at = 0;
    }
    return bytes < most ? bytes : most;
}

/* Write pieces while there is room; returns the bytes written. */
static size_t write_pieces(const struct circle *circle, struct circle_outflow *out, unsigned char *data, size_t room)
{
    const struct circle_note *note;
    struct core_piece         piece = { 0 };
    size_t                    used = 0;

    while (room - used > sizeof(piece) + 3 && (note = next_note(circle, out, &piece.member)) != NULL) {
        size_t most = (room - used - sizeof(piece)) & ~(size_t)3, left = note->len - out->at;

        piece.whole = (uint16_t)note->len;
        piece.at = (uint16_t)out->at;
        piece.len = (uint16_t)(left < most ? left : most);
        memcpy(data + used, &piece, sizeof(piece));
        memcpy(data + used + sizeof(piece), note->bytes + out->at, piece.len);
        used += core_piece_bytes(piece.len);
        out->at += piece.len;
    }
    return used;
}

static __attribute__((cold, noreturn)) void cannot_send(int peer)
{
    tern_base_log(TERN_LOG_ERROR, "cannot send what a collective call needs to rank %d: %s; ending the job", peer,
                  tern_base_detail());
    _Exit(1);
}

/* Send a message of so many bytes, or find out that there is no room. */
static tern_status send_bytes(struct circle *circle, struct circle_outflow *out, struct core_wire *head, size_t bytes)
{
    unsigned                    link = tern_job.peer_link[out->peer];
    const struct tern_link_ops *ops = tern_job.ops[link];
    struct tern_link_msg        msg = { .peer = out->peer, .channel = TERN_CHANNEL_REPLY };
    uint32_t                    words[sizeof(*head) / sizeof(uint32_t)], member;
    uint64_t                    first;
    tern_status                 st;

    if (bytes == 0) {
        head->last = 1;
        memcpy(words, head, sizeof(words));
        memcpy(&first, words, sizeof(first));
        return ops->msg_brief(tern_job.link[link], out->peer, TERN_CHANNEL_REPLY, first, words + 2, 2);
    }
    if ((st = ops->msg_open(tern_job.link[link], &msg, bytes, bytes)) != TERN_OK)
        return st;
    bytes = write_pieces(circle, out, msg.data, bytes);
    head->last = next_note(circle, out, &member) == NULL;
    memcpy(msg.head, head, sizeof(*head));
    ops->msg_send(tern_job.link[link], &msg, bytes);
    return TERN_OK;
}

/* One message. False: there is no room now. */
static bool send_one(struct circle *circle, struct circle_outflow *out)
{
    unsigned link = tern_job.peer_link[out->peer];
    size_t longest = tern_job.ops[link]->msg_longest(tern_job.link[link], out->peer, TERN_CHANNEL_REQUEST) & ~(size_t)3;
    struct core_wire head = { .whose = CORE_WIRE_OWN,
                              .way = (uint8_t)out->way,
                              .mark = CORE_WIRE_MARK,
                              .group = circle->base.id,
                              .barrier = tern_core_circle_barrier(circle),
                              .round = (uint16_t)out->round };
    tern_status      st = send_bytes(circle, out, &head, bytes_left(circle, out, longest));

    if (st == TERN_AGAIN || st == TERN_ERR_PEER) /* a death ends the job: somebody is about to do that */
        return false;
    if (st < 0)
        cannot_send(out->peer);
    out->over = head.last;
    return true;
}

bool tern_core_flow_send(struct circle *circle, struct circle_outflow *out)
{
    while (!out->over)
        if (!send_one(circle, out))
            return false;
    return true;
}

/* ---- coming in ---- */

static bool take_pieces(struct circle *circle, uint32_t barrier, const unsigned char *data, size_t len)
{
    struct core_piece piece;

    while (len > 0) {
        if (len < sizeof(piece))
            return false;
        memcpy(&piece, data, sizeof(piece));
        if (piece.member >= circle->base.size || piece.member == circle->base.me || piece.whole > TERN_LINK_NOTE ||
            piece.len == 0 || !tern_base_covers(piece.whole, piece.at, piece.len) || core_piece_bytes(piece.len) > len)
            return false;
        tern_core_flow_note(circle, barrier, &piece, data + sizeof(piece));
        data += core_piece_bytes(piece.len);
        len -= core_piece_bytes(piece.len);
    }
    return true;
}

bool tern_core_flow_take(struct circle *circle, struct circle_inflow *in, const struct core_wire *head,
                         const unsigned char *data, size_t len)
{
    if (!take_pieces(circle, head->barrier, data, len))
        return false;
    if (head->last)
        /* release: the notes of the stream. Pairs with the acquire in circle.c. */
        atomic_store_explicit(&in->whole, head->barrier, memory_order_release);
    return true;
}

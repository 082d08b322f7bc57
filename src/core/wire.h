/* wire.h: every byte of the messages that the core sends for itself. Fixed widths; checked by the receiver before
 * use. */
#ifndef TERN_CORE_WIRE_H
#define TERN_CORE_WIRE_H

#include <stdint.h>

#include "link/link.h"

/* The first bytes of every message's head are those of an active message (op/wire.h). The core's own have a handler
 * that there is not, and a shape that is no short message's, so that the way of these is not longer for it. */
#define CORE_WIRE_OWN 0xffffu
#define CORE_WIRE_MARK 0xffu
#define CORE_WIRE_MARK_AT 3

/* Which way word of a barrier goes: see group_bruck.c. */
enum core_direction { CORE_DIRECTION_UP, CORE_DIRECTION_ROUND, CORE_DIRECTION_DOWN };

/* Instead of a way: the message says nothing; that it came makes a rank that waits look. */
#define CORE_DIRECTION_WAKE 0xffu

/* The head of a message of a bruck. Its data are pieces. */
struct core_wire {
    uint16_t whose; /* CORE_WIRE_OWN */
    uint8_t  way;   /* enum core_direction */
    uint8_t  mark;  /* CORE_WIRE_MARK */
    uint32_t group;
    uint32_t barrier;
    uint16_t round; /* of CORE_DIRECTION_ROUND */
    uint16_t last;  /* 1: the last message of its stream */
};
_Static_assert(sizeof(struct core_wire) == 16, "the head of a bruck's message has no padding");
_Static_assert(offsetof(struct core_wire, mark) == CORE_WIRE_MARK_AT, "the mark lies where shapes do");

/* A piece of a member's note. Its bytes follow, then up to three that fill the last four. */
struct core_fragment {
    uint32_t member;
    uint16_t whole; /* bytes of the note */
    uint16_t at;    /* where in it the piece begins */
    uint16_t len;   /* bytes of the piece */
    uint16_t reserved;
};
_Static_assert(sizeof(struct core_fragment) == 12, "the head of a piece has no padding");

/* Bytes that a piece takes. */
static inline size_t core_fragment_bytes(size_t len)
{
    return sizeof(struct core_fragment) + ((len + 3) & ~(size_t)3);
}

#endif

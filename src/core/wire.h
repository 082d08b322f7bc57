/* wire.h: the format of the messages that the core itself sends. Fixed widths; the receiver validates them before
 * use. */
#pragma once

#include <stdint.h>

#include "link/link.h"

/* The head of every message begins with the fields of an active message (op/wire.h). The core's own messages have a
 * handler number that does not exist, and a shape that no short message has, so that they cost short messages no extra
 * check. */
#define CORE_WIRE_OWN 0xffffu
#define CORE_WIRE_TEAM_SHIFT 10 /* the number of a team in the first 2 bytes of an active message: op/wire.h */
/* The number of all teams that the program creates: their messages have one more argument, the first, which is the id
 * of the team. */
#define CORE_WIRE_TEAM_NAMED 62u
#define CORE_WIRE_MARK 0xffu
#define CORE_WIRE_MARK_AT 3

/* The kind of a message. UP, ROUND and DOWN are directions of a barrier message: see group_bruck.c. DEPART and PARTED
 * concern departures: see group_part.c. The others concern the creation of a team: see team_create.c. */
enum core_direction {
    CORE_DIRECTION_UP,
    CORE_DIRECTION_ROUND,
    CORE_DIRECTION_DOWN,
    CORE_DIRECTION_DEPART,
    CORE_DIRECTION_PARTED,
    CORE_TEAM_JOIN,
    CORE_TEAM_READY,
    CORE_TEAM_OPENED,
    CORE_TEAM_GO,
    CORE_TEAM_REFUSED,
    CORE_TEAM_CALL,
    CORE_TEAM_OBJECT,
    CORE_TEAM_ABORT
};

/* Used instead of a direction: the message has no contents; its arrival makes a waiting rank poll. */
#define CORE_DIRECTION_WAKE 0xffu

/* The value of core_wire.last in a message without data: the sender gives up the team. This stream is not completed at
 * the barrier, and does not come at later ones. With the direction DEPART, the sender abandons the team: it sends no
 * stream at the barrier, and departs no more. */
#define CORE_WIRE_GAVE_UP 2

/* The head of a message of a Bruck group. The data consists of fragments. */
struct core_wire {
    uint16_t whose; /* CORE_WIRE_OWN */
    uint8_t  way;   /* enum core_direction */
    uint8_t  mark;  /* CORE_WIRE_MARK */
    uint32_t group;
    uint32_t barrier;
    uint16_t round; /* for CORE_DIRECTION_ROUND */
    uint16_t last;  /* 1: the last message of its stream; CORE_WIRE_GAVE_UP */
};
_Static_assert(sizeof(struct core_wire) == 16, "the head of a group message has no padding");
_Static_assert(offsetof(struct core_wire, mark) == CORE_WIRE_MARK_AT,
               "the mark is at the offset of an active message's shape");

/* A fragment of a member's contribution. Its bytes follow, padded to a multiple of four. */
struct core_fragment {
    uint32_t member;
    uint16_t whole; /* bytes of the contribution */
    uint16_t at;    /* offset of the fragment in the contribution */
    uint16_t len;   /* bytes of the fragment */
    uint16_t reserved;
};
_Static_assert(sizeof(struct core_fragment) == 12, "the head of a fragment has no padding");

/* Return the size of a fragment on the wire, including its head and padding. */
static inline size_t core_fragment_bytes(size_t len)
{
    return sizeof(struct core_fragment) + ((len + 3) & ~(size_t)3);
}

/* A message about departures. The head is that of a group message: barrier is the number of the departure, and round
 * the number of the sending member. */
struct core_part_wire {
    struct core_wire head;
    uint64_t         object; /* DEPART: what the member gives up. PARTED: a member that gave up another object, + 1 */
};
_Static_assert(sizeof(struct core_part_wire) == 24, "a message about departures has no padding");

/* A message about the creation of a team: see team_create.c. */
struct core_team_wire {
    uint16_t whose; /* CORE_WIRE_OWN */
    uint8_t  way;   /* CORE_TEAM_JOIN ... */
    uint8_t  mark;  /* CORE_WIRE_MARK */
    uint32_t parent;
    uint64_t tag;
    uint64_t hash;    /* hash of the list of ranks */
    uint32_t size;    /* length of the list */
    uint32_t attempt; /* number of the call: of the sender in JOIN, CALL and ABORT, of the receiver in replies */
    uint32_t id;      /* READY, OPENED: id of the team */
    int32_t  status;  /* OPENED, REFUSED: tern_status */
    uint64_t more;    /* READY: offset of the memory that the members share. Others: a rank of the job, + 1 */
};
_Static_assert(sizeof(struct core_team_wire) == TERN_LINK_HEAD, "a message about a team fits into the head");

/* Send a message of the core that consists of at most TERN_LINK_HEAD bytes, a multiple of 4 and at least 8. The calling
 * thread must hold the delivery (core/message.h), or be delivering. Returns TERN_AGAIN if there is no space now. */
tern_status tern_core_wire_send(int peer, const void *wire, size_t bytes);

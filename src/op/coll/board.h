/* board.h: short blocking collective calls of a team on one node, through memory that all members share.
 *
 * In a call, a member writes its contribution into a cell of its board, reads the cells of the members whose
 * contributions it needs, and computes its result (meeting.h). A call of 8 bytes is thereby one cache line from each
 * member. Contributions that do not fit into the cell are in a page beside it.
 *
 * Blocking calls that are too long for the board leave their word there: those that access the memory of other members
 * (direct.h), and those that send messages. */
#pragma once

#include "op/coll/coll.h"

#define TERN_BOARD_SHORT 40u                /* bytes that fit into a cell */
#define TERN_BOARD_LONG 4096u               /* bytes of a page: most bytes of a contribution */
#define TERN_BOARD_ANY (UINT64_C(1) << 32)  /* there is an operation, */
#define TERN_BOARD_LOST (UINT64_C(1) << 33) /* which has failed because a member is gone */

struct tern_board_cell {
    _Alignas(64) unsigned char brief[TERN_BOARD_SHORT]; /* functions of the program read it: first, for its alignment */
    _Atomic uint64_t word;                              /* written last: number, call and digest */
    uint64_t         amount;
    int32_t          root;
    uint32_t         elem; /* bytes of an element, or 0 */
};
_Static_assert(sizeof(struct tern_board_cell) == 64, "a cell is a cache line");

/* The board of a member. Writer: the member. */
struct tern_board {
    struct tern_board_cell cell[TERN_BOARD_CELLS];
    unsigned char          page[TERN_BOARD_PAGES][TERN_BOARD_LONG];
    _Alignas(64) _Atomic uint32_t done; /* number of the last meeting that the member has completed */
    _Atomic uint32_t quits;             /* it takes part in no meeting from this one on; 0: it takes part */
    _Atomic uint32_t failed;            /* the last meeting that it has given up (direct.h) */
    _Atomic int32_t  why;               /* the status with which it has; written before failed */
    /* The last meeting in which it accessed the memory of others (direct.h): read only after a failure. */
    _Alignas(64) _Atomic uint32_t inside;
    uint32_t         reserved;
    /* The nonblocking operation in which it accesses the memory of others (direct_with.h), and the first one whose
     * arrays it has taken back: TERN_BOARD_ANY, of the latter perhaps TERN_BOARD_LOST, and the number; 0: none. */
    _Atomic uint64_t works, revokes;
};
_Static_assert(sizeof(struct tern_board) <= TERN_LINK_BOARD, "a board fits");

/* Find the boards of the team, if it has any. */
void tern_op_board_open(struct tern_station *station);
void tern_op_board_close(struct tern_station *station);

/* Return whether the call goes through the board. All members decide alike. */
bool tern_op_board_takes(const struct tern_station *station, const struct tern_coll_args *args);

/* Make the call. */
tern_status tern_op_board_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args);

/* A blocking call that sends messages begins and ends. Without effect if the team has no board. */
void tern_op_board_enter(struct tern_station *station, const struct tern_coll_args *args);
void tern_op_board_leave(struct tern_station *station);

/* Tell the other members that this one takes part in no call from `number` on. */
void tern_op_board_quit(struct tern_station *station, uint32_t number);

/* Return whether a member has made another collective call, such as tern_barrier, and not the last blocking call of
 * this member. `call` becomes the name of that call. */
bool tern_op_board_elsewhere(const struct tern_station *station, int member, const char **call);

/* Compare the blocking call c, which sends messages, with the words of the other members. */
void tern_op_board_compare(struct tern_coll *c);

/* board.h: short blocking collective calls of a team on one node, through memory that all members share.
 *
 * In a call, a member writes its contribution into a cell of its board, reads the cells of the members whose
 * contributions it needs, and computes its result (meeting.h). A call of 8 bytes therefore transfers one cache line
 * from each member. Contributions that do not fit into the cell are in a page beside it.
 *
 * Blocking calls that are too long for the board also write their word there: calls that access the memory of other
 * members (direct.h), and calls that send messages. */
#pragma once

#include "op/coll/coll.h"

#define TERN_BOARD_SHORT 40u                /* bytes that fit into a cell */
#define TERN_BOARD_LONG 4096u               /* bytes of a page: the longest contribution */
#define TERN_BOARD_ANY (UINT64_C(1) << 32)  /* flag of works and revokes: the word names an operation */
#define TERN_BOARD_LOST (UINT64_C(1) << 33) /* flag of revokes: the operation has failed because a member is gone */

struct tern_board_cell {
    /* First, because functions of the program read it and need its alignment. */
    _Alignas(64) unsigned char brief[TERN_BOARD_SHORT];
    _Atomic uint64_t word; /* written last: number, call and digest */
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
    _Atomic uint32_t quits;  /* first meeting in which the member does not take part; 0: it takes part in all */
    _Atomic uint32_t failed; /* the last meeting that the member has given up (direct.h) */
    _Atomic int32_t  why;    /* why it has given up that meeting; written before failed */
    /* The last meeting in which the member accessed the memory of others (direct.h): read only after a failure. */
    _Alignas(64) _Atomic uint32_t inside;
    uint32_t         reserved;
    /* The nonblocking operation in which the member accesses the memory of others, and the first operation whose arrays
     * the member has revoked (direct_with.h): TERN_BOARD_ANY and the number of the operation, in revokes perhaps with
     * TERN_BOARD_LOST; 0: none. */
    _Atomic uint64_t works, revokes;
};
_Static_assert(sizeof(struct tern_board) <= TERN_LINK_BOARD, "a board fits");

/* Find the boards of the team, if the team has boards. */
void tern_op_board_open(struct tern_station *station);
void tern_op_board_close(struct tern_station *station);

/* Return whether the call goes through the board. All members reach the same answer. */
bool tern_op_board_takes(const struct tern_station *station, const struct tern_coll_args *args);

/* Make the call. */
tern_status tern_op_board_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args);

/* Begin and end a blocking call that sends messages. The functions have no effect if the team has no board. */
void tern_op_board_enter(struct tern_station *station, const struct tern_coll_args *args);
void tern_op_board_leave(struct tern_station *station);

/* Tell the other members that this member takes part in no call from `number` on. */
void tern_op_board_quit(struct tern_station *station, uint32_t number);

/* Return whether a member has made another collective call, such as tern_barrier, and not the last blocking call of
 * this member. `call` becomes the name of that call. */
bool tern_op_board_elsewhere(const struct tern_station *station, int member, const char **call);

/* Compare the blocking call c, which sends messages, with the words of the other members. */
void tern_op_board_compare(struct tern_coll *c);

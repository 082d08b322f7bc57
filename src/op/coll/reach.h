/* reach.h: how the members of a team on one node access the arrays of each other in a collective call.
 *
 * A member publishes where its arrays are (struct tern_coll_places). All members of the region's team map an array in a
 * region that Tern allocated, and access it by loads and stores. A blocking call may copy a short source in other
 * memory to the pages of the member's board, which all members map, too. All other memory is copied by the kernel
 * (cross-memory attach), if the kernel permits that between all members. If it does not, an array in such memory is out
 * of reach, and the members send messages instead. */
#pragma once

#include "op/coll/coll.h"

/* The place of an array. */
struct tern_coll_place {
    uint64_t name; /* name of the part of a region; or one of the constants below */
    uint64_t at;   /* offset in the part, or address */
};
#define TERN_PLACE_ADDRESS 0u             /* memory of the member's process */
#define TERN_PLACE_FAR UINT64_MAX         /* memory that the others cannot access */
#define TERN_PLACE_NONE (UINT64_MAX - 1)  /* nobody accesses the array */
#define TERN_PLACE_PAGES (UINT64_MAX - 2) /* the pages of the member's board contain a copy of the array */

/* The arrays of a member, as it publishes them. */
struct tern_coll_places {
    struct tern_coll_place src, dst;
};

/* How this member reaches the memory of another one. */
struct tern_reach_member {
    struct tern_link_part part;          /* all memory of the process, by cross-memory attach */
    uint64_t              name, changes; /* the last used part of a region; valid while the regions have not changed */
    unsigned char        *base;
};

struct tern_reach {
    const struct tern_station *station;
    bool                       agreed; /* whether the members know if cross-memory attach works between all of them, */
    bool                       attaches; /* and whether it does; until they know, an address may be published */
    struct tern_region_found   found;    /* the region of this rank's last array */
    unsigned char             *scratch;  /* two chunks */
    struct tern_reach_member  *member;   /* [size] */
};

/* Bytes of the pieces in which arrays are combined, chosen so that a piece stays in a cache. The first number is for
 * arrays that are accessed by loads and stores, the second one for arrays of which the kernel copies each piece, at the
 * cost of a system call. */
#define TERN_REACH_PIECE (32u << 10)
#define TERN_REACH_CHUNK (256u << 10)

/* An array of a member: an address for loads and stores, or an address in its process. */
struct tern_coll_array {
    unsigned char *base; /* NULL: only cross-memory attach reaches it */
    uint64_t       addr;
    int            member;
};

/* Create the state of a station. NULL, with a detail: no memory. */
struct tern_reach *tern_op_reach_open(const struct tern_station *station);
void               tern_op_reach_close(struct tern_reach *reach);

/* The bytes by which a member lets the others find out whether they can access its memory; and whether this member can
 * access the memory of the member that sent such bytes. */
struct tern_reach_probe {
    uint64_t probe;
    int32_t  pid;
    uint32_t reserved;
};
struct tern_reach_probe tern_op_reach_probe(void);
bool                    tern_op_reach_try(struct tern_reach *reach, int member, const struct tern_reach_probe *probe);

/* Return the place of an array of this rank. */
struct tern_coll_place tern_op_reach_place(struct tern_reach *reach, const void *array, size_t bytes);

/* Find an array of a member. Returns false, with a detail, if this rank does not have the region. */
bool tern_op_reach_find(struct tern_reach *reach, int member, const struct tern_coll_place *place,
                        struct tern_coll_array *array);

/* Copy from an array of a member, and to one. */
tern_status tern_op_reach_get(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at, void *to,
                              size_t bytes);
tern_status tern_op_reach_put(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at,
                              const void *from, size_t bytes);

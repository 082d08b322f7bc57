/* reach.h: how the members of a team on one node access the arrays of each other in a collective call.
 *
 * A member publishes where its arrays are (struct tern_coll_places). An array in a region that Tern allocated is mapped
 * by all members of the region's team, and is accessed by loads and stores. Other memory is copied by the kernel
 * (cross-memory attach), if the kernel permits that between all members. If it does not, an array in other memory is
 * out of reach, and the members send messages instead. */
#pragma once

#include "op/coll/coll.h"

/* Where an array is. */
struct tern_coll_place {
    uint64_t name; /* of the part of a region; or one of these: */
    uint64_t at;   /* offset in the part, or address */
};
#define TERN_PLACE_ADDRESS 0u            /* memory of the member's process */
#define TERN_PLACE_FAR UINT64_MAX        /* memory that the others cannot access */
#define TERN_PLACE_NONE (UINT64_MAX - 1) /* nobody accesses the array */

/* The arrays of a member, as it publishes them. */
struct tern_coll_places {
    struct tern_coll_place src, dst;
};

/* What a member knows of the memory of another one. */
struct tern_reach_member {
    struct tern_link_part part;          /* all memory of the process, by cross-memory attach */
    uint64_t              name, changes; /* the part of a region that was used last, while regions have not changed */
    unsigned char        *base;
};

struct tern_reach {
    const struct tern_station *station;
    bool                       agreed;   /* whether cross-memory attach works between all members is known, */
    bool                       attaches; /* and whether it does; until then an address may be published */
    struct tern_region_found   found;    /* the region of this rank's last array */
    unsigned char             *scratch;  /* two chunks */
    struct tern_reach_member  *member;   /* [size] */
};

/* Bytes of the pieces in which arrays are combined, so that they stay in a cache: for arrays that are accessed by loads
 * and stores, and for arrays of which the kernel copies each piece, at the cost of a system call. */
#define TERN_REACH_PIECE (32u << 10)
#define TERN_REACH_CHUNK (256u << 10)

/* An array of a member: an address for loads and stores, or an address in its process. */
struct tern_coll_array {
    unsigned char *base; /* NULL: by cross-memory attach only */
    uint64_t       addr;
    int            member;
};

/* Create the state of a station. NULL, with a detail: no memory. */
struct tern_reach *tern_op_reach_open(const struct tern_station *station);
void               tern_op_reach_close(struct tern_reach *reach);

/* What a member tells the others so that they find out whether they can access its memory; and whether this member can
 * access that of another one, by what the other has told. */
struct tern_reach_probe {
    uint64_t probe;
    int32_t  pid;
    uint32_t reserved;
};
struct tern_reach_probe tern_op_reach_probe(void);
bool                    tern_op_reach_try(struct tern_reach *reach, int member, const struct tern_reach_probe *probe);

/* Return where an array of this rank is. */
struct tern_coll_place tern_op_reach_place(struct tern_reach *reach, const void *array, size_t bytes);

/* Find an array of a member. Returns false, with a detail, if this rank does not have the region. */
bool tern_op_reach_find(struct tern_reach *reach, int member, const struct tern_coll_place *place,
                        struct tern_coll_array *array);

/* Copy from and to an array of a member. */
tern_status tern_op_reach_get(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at, void *to,
                              size_t bytes);
tern_status tern_op_reach_put(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at,
                              const void *from, size_t bytes);

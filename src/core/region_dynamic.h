/* region_dynamic.h: regions to which each rank attaches memory without the others.
 *
 * Each rank has a table of memory handles, one for each range of memory that it has attached. The tables are the memory
 * of the region, so that ranks on the node map them, and others fetch them. A peer that first finds a range in the
 * table attaches it to its links as a part; from then on, operations on the range do not differ from operations on
 * registered memory. The sequence number of a table changes with each attach and detach: an access begins with a
 * comparison of that number, so that a range that is no longer attached is not accessed. */
#pragma once

#include "core/region.h"

#define TERN_DYNAMIC_RANGES 4096 /* ranges that a rank has attached at the same time */

/* A rank's table. Other processes read it. The handles are not sorted. */
struct tern_dynamic_head {
    _Atomic uint64_t sequence; /* odd: the table is being changed */
    _Atomic uint64_t count;    /* number of entries */
    uint64_t         unused[6];
};
struct tern_dynamic_table {
    struct tern_dynamic_head head;
    struct tern_mem_handle   entry[TERN_DYNAMIC_RANGES];
};
_Static_assert(sizeof(struct tern_dynamic_head) == 64, "the entries begin in a cache line of their own");

/* A range of a rank, as this process reaches it. Operations refer to its parts. A range that its rank has detached
 * stays until many others have been detached, and this process has no outstanding operations on the region. */
struct tern_dynamic_range {
    struct tern_link_part part;
    struct tern_link_part net;  /* as a network with atomics reaches the range; path NULL: there is no such network */
    struct tern_list      node; /* on the list of detached ranges, or on none */
    bool                  kept; /* while a table is installed: the range is in the new table, too */
};

/* Create a dynamic region. Collective, as tern_core_region_alloc. */
tern_status tern_core_dynamic_open(struct tern_ctx *ctx, tern_status checked, struct tern_region **out);

/* Attach and detach memory of this rank. Any thread. */
tern_status tern_core_dynamic_attach(struct tern_region *region, void *addr, uint64_t len);
tern_status tern_core_dynamic_detach(struct tern_region *region, void *addr);

/* Return whether this rank has attached some of the len bytes from an address on. No other thread may attach or detach
 * memory at the same time. */
bool tern_core_dynamic_holds(const struct tern_region *region, uint64_t addr, uint64_t len);

/* Free the state of a dynamic region, which is being freed. */
void tern_core_dynamic_close(struct tern_region *region);

/* Return the part that is the table of a rank, through which a rank on another node fetches it. */
const struct tern_link_part *tern_core_dynamic_table(const struct tern_region *region, int world);

/* Find the range of a rank that contains len bytes from an address on; NULL, with TERN_OK: none does. read: for a table
 * that this process maps, which is read again if it has changed. look: for another table, in the copy that was fetched
 * before; TERN_AGAIN: the sequence number has changed since then. install: enter a fetched copy. */
tern_status tern_core_dynamic_read(struct tern_region *region, int world, uint64_t addr, uint64_t len,
                                   const struct tern_dynamic_range **out);
tern_status tern_core_dynamic_look(struct tern_region *region, int world, uint64_t sequence, uint64_t addr,
                                   uint64_t len, const struct tern_dynamic_range **out);
tern_status tern_core_dynamic_install(struct tern_region *region, int world, uint64_t sequence,
                                      const struct tern_mem_handle *entries, uint64_t count);

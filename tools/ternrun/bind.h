/* bind.h: the three steps that decide on which cores the ranks of a host run.
 *
 *     cores.c    asks hwloc for the cores that ternrun may use, and where they are
 *     shares.c   divides these cores among the ranks: a computation without system calls
 *     bind.c     chooses the method from the options, and binds the ranks
 *
 * Cores are numbered from 0 in the order of hwloc, in which the cores of a socket, a NUMA node or an L3 cache are
 * neighbours. A share is therefore a range of cores.
 */
#ifndef TERNRUN_BIND_H
#define TERNRUN_BIND_H

#include <hwloc.h>
#include <stdbool.h>

/* The parts of a machine that a share should not cross. */
enum run_level { LEVEL_SOCKET, LEVEL_NUMA, LEVEL_L3, LEVELS };

struct run_core {
    hwloc_bitmap_t cpus;         /* hardware threads of the core that ternrun may use; never empty */
    int            unit[LEVELS]; /* index of the socket, NUMA node and L3 cache of the core: 0 for the first core, and
                                    one more for each core that begins another unit */
};

struct run_cores {
    hwloc_topology_t topology;
    hwloc_bitmap_t   allowed; /* cpus that ternrun may use */
    struct run_core *core;    /* [count] */
    int              count;
    int              units[LEVELS]; /* number of units that have any of these cores; 0: hwloc knows none */
};

/* The cores first ... first + count - 1. */
struct run_share {
    int first, count;
};

/* cores.c: find the cores that ternrun may use. Returns false if hwloc cannot tell. run_cores_free must be called in
 * either case. */
bool run_cores_load(struct run_cores *cores);
/* Find the cores of a loaded topology that have cpus in allowed. Takes over both. */
bool run_cores_of(struct run_cores *cores, hwloc_topology_t topology, hwloc_bitmap_t allowed);
void run_cores_free(struct run_cores *cores);

/* shares.c: divide all cores among the ranks. Shares are disjoint and differ by at most one core, and as few of them as
 * possible cross the border of a socket, NUMA node or L3 cache, in this order of importance. There must be at least as
 * many cores as ranks. Returns false if there is no memory. */
bool run_shares_divide(const struct run_cores *cores, int ranks, struct run_share *share);
/* Give each rank the same number of cores, beginning with the first cores of the machine. As few shares as possible
 * cross a border, that of level first. There must be enough cores. Returns false if there is no memory. */
bool run_shares_pack(const struct run_cores *cores, int ranks, int each, enum run_level level, struct run_share *share);
/* Give each rank whole units of a level. Ranks share units if there are more ranks than units. */
void run_shares_units(const struct run_cores *cores, int ranks, enum run_level level, struct run_share *share);
/* Return whether the share has cores of more than one unit of the level. */
bool run_share_crosses(const struct run_cores *cores, const struct run_share *share, enum run_level level);
/* Return how many shares of the given number of cores fit into the units of a level. */
int  run_shares_room(const struct run_cores *cores, int each, enum run_level level);

#endif

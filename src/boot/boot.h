/* boot.h: how a process learns which rank of which job it is.
 *
 * ternrun sets one variable in the environment of each rank:
 *     TERN_BOOT=layout=18,rank=2,ranks=8,arena=5,huge=6,tell=-1,launcher=4711,job=81985529216486895
 * arena, huge and tell are inherited descriptors. huge is -1 if the system has no huge pages. tell is a pipe to the
 * relay, or -1 if the job has one node. launcher is ternrun's process id, through which a rank can reopen the
 * descriptors if an intermediate program has closed them. job is the job's mark. The mark is random, so that a process
 * of an earlier job or of another PID namespace is not mistaken for a part of this job just because its launcher has
 * the same process id.
 *
 * Without the variable, a foreign launcher may have started the process (pmi_join.h). Otherwise the process is a
 * singleton, a job of one rank, and creates its own arena.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "base/status.h"
#include "boot/segment.h"

struct tern_boot {
    int                  rank, ranks;   /* this rank, and the number of ranks of the job */
    int                  node, nodes;   /* this node, and the number of nodes of the job */
    int                  local, locals; /* index of this rank among the ranks of its node, and their number */
    int                  arena, huge;   /* descriptors, close-on-exec; -1: none */
    int                  relay_fd;      /* descriptor that wakes the relay, a pipe or an eventfd; -1: none */
    bool                 launched;      /* false: a singleton, without a launcher */
    bool                 foreign;       /* started by a launcher other than ternrun: see pmi_join.h */
    struct tern_segment *segment;       /* mapped */
};

/* The shape of a job as seen from one of its nodes. */
struct tern_boot_shape {
    int            ranks, nodes, node;
    const int32_t *node_of; /* [ranks] the node of each rank; NULL: the job has one node */
    int            cores;   /* number of cores of this node that its ranks may use */
    uint64_t       job;     /* random identifier of the job; 0: generate one */
};

/* Create the arena of this node and initialize its segment. Launchers and singletons call this. On success *arena and
 * *huge are descriptors without close-on-exec (*huge is -1 if there are no huge pages), and *segment is mapped. The
 * option TERN_ON_FAILURE decides whether the segment stores contributions.
 * Returns TERN_OK. TERN_ERR_RANGE: the shape is invalid. TERN_ERR_NOMEM, TERN_ERR_SYSTEM. */
tern_status tern_boot_arena_shape(const struct tern_boot_shape *shape, int *arena, int *huge,
                                  struct tern_segment **segment);

/* Create the arena of a job on one node; see tern_boot_arena_shape for the results. */
tern_status tern_boot_arena_make(int ranks, int cores, int *arena, int *huge, struct tern_segment **segment);

/* Map the segment of an arena, which must belong to a job of this many ranks.
 * Returns TERN_OK. TERN_ERR_BOOT: the arena does not match. TERN_ERR_NOMEM. */
tern_status tern_boot_segment_map(int arena, int ranks, struct tern_segment **segment);

/* Unmap a segment. */
void tern_boot_segment_unmap(struct tern_segment *segment);

/* The values that a launcher passes to all its ranks. */
struct tern_boot_given {
    int     ranks, arena, huge, relay_fd;
    int     launcher; /* process id */
    int64_t mark;     /* tern_boot_mark() */
};

#define TERN_BOOT_TEXT 192 /* maximum size of the value of TERN_BOOT in bytes */

/* Derive the mark of a job from its random identifier. The mark does not reveal the identifier, which links use as a
 * key. */
int64_t tern_boot_mark(uint64_t job);

/* Write the value of TERN_BOOT for a rank into text. */
void tern_boot_text(char *text, size_t size, int rank, const struct tern_boot_given *given);

/* The fields of TERN_BOOT, in the order of the text. */
struct tern_boot_words {
    int64_t layout, rank, ranks, arena, huge, tell, launcher, mark;
};

/* Parse the value of TERN_BOOT, which is untrusted. This is a pure function of the text and checks only its form, not
 * whether the values make sense.
 * Returns TERN_OK. TERN_ERR_BOOT: the text does not have the form that a ternrun of this version writes. */
tern_status tern_boot_text_read(const char *text, struct tern_boot_words *out);

/* Set boot->rank, and derive ranks, node, nodes, local and locals from the mapped segment. */
void tern_boot_place(struct tern_boot *boot, int rank);

/* Claim the rank's slot by setting its life to JOINING. Only one process succeeds; others get TERN_ERR_BOOT. */
tern_status tern_boot_claim(struct tern_segment *segment, int rank);

/* Determine the rank of this process from the option TERN_BOOT or from a foreign launcher, map the segment, and claim
 * the rank's slot (life JOINING). */
tern_status tern_boot_join(struct tern_boot *boot);

/* In a process that ternrun has started and that is not in the job: map the segment. Returns NULL if ternrun has not
 * started the process, or the segment cannot be reached. */
struct tern_segment *tern_boot_peek(void);

/* Leave the job: stop the threads that serve a job of a foreign launcher, and release the segment and the descriptors.
 * The caller is responsible for the slot's life. */
void tern_boot_leave(struct tern_boot *boot);

/* The parts of a struct tern_boot that must be released, when there are none yet. */
#define TERN_BOOT_EMPTY .arena = -1, .huge = -1, .relay_fd = -1

/* Unmap the segment and close the descriptors, if there are any. */
void tern_boot_release(struct tern_boot *boot);

/* Publish this rank's net address for the link with the given number. Call this once for each link, before the rank's
 * life becomes JOINED; one thread at a time.
 * Returns TERN_OK. TERN_ERR_RANGE: len is 0, or the addresses of all links together need more than
 * TERN_NET_ADDRESS_BYTES. TERN_ERR_STATE: the link's address was already published. */
tern_status tern_boot_publish_address(const struct tern_boot *boot, uint16_t link, const void *bytes, size_t len);

/* Return the net address that a rank of the job has published for a link; NULL if there is none, or not yet. The bytes
 * are untrusted. */
const void *tern_boot_net_address(const struct tern_boot *boot, uint16_t link, int rank, size_t *len);

/* Return how many ranks of this node take turns on a core; 1: each rank has a core of its own. */
static inline int64_t tern_boot_turns(const struct tern_boot *boot)
{
    uint32_t locals = boot->segment->locals, cores = boot->segment->cores;

    return locals > cores ? (locals + cores - 1) / cores : 1;
}

/* Return whether a rank of the job is on the node of this process. */
static inline bool tern_boot_same_node(const struct tern_boot *boot, int rank)
{
    return boot->segment->slot[rank].node == (uint32_t)boot->node;
}

/* Return whether a rank of the job serves no more requests: it has left the job, or it is dead and the job continues
 * without it. */
static inline bool tern_boot_gone(const struct tern_boot *boot, int rank)
{
    const struct tern_slot *slot = &boot->segment->slot[rank];
    uint32_t                fate = atomic_load_explicit(&slot->fate, memory_order_relaxed); /* orders nothing */

    return (fate == TERN_FATE_LOST && boot->segment->on_failure == TERN_ON_FAILURE_RETURN) || fate == TERN_FATE_ENDED ||
           atomic_load_explicit(&slot->life, memory_order_relaxed) == TERN_LIFE_LEFT;
}

/* Wake the relay. Call this after this rank has changed state that other nodes must know: its life or its barrier slot.
 * Does nothing in a job on one node. Any thread may call this. */
void tern_boot_tell(const struct tern_boot *boot);

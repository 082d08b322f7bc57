/* boot.h: how a process learns which rank of which job it is.
 *
 * ternrun puts one variable into the environment of each rank,
 *     TERN_BOOT=layout=2,rank=2,ranks=8,arena=5,huge=6,tell=-1,launcher=4711,job=81985529216486895
 * where arena, huge and tell are inherited descriptors (huge is -1 where the system has no huge pages; tell is a pipe
 * to the relay, -1 where the job has one node), launcher is ternrun's process id, through which the descriptors can be
 * opened again where a program in between closed them, and job is the job's mark. The mark is random, so that neither a
 * process that an earlier job left behind, nor one of another process namespace, is taken for a part of the job because
 * the number of its launcher is the same.
 * Without the variable a foreign launcher may have started the process (pmi_join.h); else it is a job of one rank and
 * makes its own arena.
 */
#ifndef TERN_BOOT_BOOT_H
#define TERN_BOOT_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/segment.h"

struct tern_boot {
    int                  rank, ranks;   /* in the job */
    int                  node, nodes;   /* which node this is, of how many */
    int                  local, locals; /* number of this rank among the ranks of its node, and how many these are */
    int                  arena, huge;   /* descriptors, close-on-exec; huge may be -1 */
    int                  relay_fd;      /* descriptor that wakes the relay, a pipe or an eventfd; -1: there is none */
    bool                 launched;      /* false: a job of one, without a launcher */
    bool                 foreign;       /* launched by another than ternrun: see pmi_join.h */
    struct tern_segment *segment;       /* mapped */
};

/* A job as one of its nodes sees it. */
struct tern_boot_shape {
    int            ranks, nodes, node;
    const int32_t *node_of; /* [ranks] the node of each rank; NULL: there is one node */
    int            cores;   /* of this node, that its ranks may use */
    uint64_t       job;     /* the job's random name; 0: draw one */
};

/* Make the arena of this node and the first content of its segment. Used by launchers, and by a process without one. On
 * success *arena and *huge are descriptors (huge -1 where there are no huge pages), not close-on-exec, and *segment is
 * mapped. Whether seats have notes is decided by the option TERN_ON_FAILURE.
 * Returns TERN_OK. TERN_ERR_RANGE: a job of that shape cannot be. TERN_ERR_NOMEM, TERN_ERR_SYSTEM. */
tern_status tern_boot_arena_shape(const struct tern_boot_shape *shape, int *arena, int *huge,
                                  struct tern_segment **segment);

/* The same for a job on one node. */
tern_status tern_boot_arena_make(int ranks, int cores, int *arena, int *huge, struct tern_segment **segment);

/* Map the segment of an arena, which is to be that of a job of so many ranks.
 * Returns TERN_OK. TERN_ERR_BOOT: it is not. TERN_ERR_NOMEM. */
tern_status tern_boot_segment_map(int arena, int ranks, struct tern_segment **segment);

/* Unmap a segment. */
void tern_boot_segment_unmap(struct tern_segment *segment);

/* What a launcher gives to all its ranks. */
struct tern_boot_given {
    int     ranks, arena, huge, relay_fd;
    int     launcher; /* process id */
    int64_t mark;     /* tern_boot_mark() */
};

#define TERN_BOOT_TEXT 192 /* bytes that the value of TERN_BOOT takes at most */

/* The mark of a job from its random name, which the mark does not reveal: links use that as a key. */
int64_t tern_boot_mark(uint64_t job);

/* Write the value of TERN_BOOT for a rank into text. */
void tern_boot_text(char *text, size_t size, int rank, const struct tern_boot_given *given);

/* What TERN_BOOT says. The fields in the order of the text. */
struct tern_boot_words {
    int64_t layout, rank, ranks, arena, huge, tell, launcher, mark;
};

/* Read the value of TERN_BOOT, which is text from outside: a function of the text, and nothing in it is believed but
 * that it has the right form.
 * Returns TERN_OK. TERN_ERR_BOOT: it is not what a ternrun of this version writes. */
tern_status tern_boot_text_read(const char *text, struct tern_boot_words *out);

/* Fill in which rank this is, and from the mapped segment what follows from that: ranks, node, nodes, local, locals. */
void tern_boot_place(struct tern_boot *boot, int rank);

/* Take the rank's slot (life JOINING). Only one process can; TERN_ERR_BOOT for others. */
tern_status tern_boot_claim(struct tern_segment *segment, int rank);

/* Learn who we are from the option TERN_BOOT or from a foreign launcher, map the segment, and claim the rank's slot
 * (life JOINING). */
tern_status tern_boot_join(struct tern_boot *boot);

/* Unmap and close. The slot's life is the caller's affair. */
void tern_boot_leave(struct tern_boot *boot);

/* Publish this rank's card for links between nodes: once, before the rank's life becomes JOINED. Returns TERN_OK.
 * TERN_ERR_RANGE: len is 0 or more than TERN_NET_ADDRESS_BYTES. TERN_ERR_STATE: it was published before. */
tern_status tern_boot_publish_address(const struct tern_boot *boot, const void *bytes, size_t len);

/* The card of a rank of the job; NULL: it published none. Asked for once the rank has JOINED. */
const void *tern_boot_net_address(const struct tern_boot *boot, int rank, size_t *len);

/* Whether the rank of the job is on the node of this process. */
static inline bool tern_boot_same_node(const struct tern_boot *boot, int rank)
{
    return boot->segment->slot[rank].node == (uint32_t)boot->node;
}

/* Wake the relay, after this rank has changed something that other nodes have to know: its life or its seat. Does
 * nothing in a job on one node. Any thread. */
void tern_boot_tell(const struct tern_boot *boot);

#endif

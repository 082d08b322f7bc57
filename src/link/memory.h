/* memory.h: memory handles: what a rank tells the other ranks about its part of a region. */
#ifndef TERN_LINK_MEMORY_H
#define TERN_LINK_MEMORY_H

#include <stdint.h>

/* Where the memory of a part is located. */
enum tern_mem_kind {
    TERN_MEM_NONE,    /* the rank is not in the region's team, or exposes no memory */
    TERN_MEM_ARENA,   /* at an offset of the arena */
    TERN_MEM_HUGE,    /* at an offset of the arena of huge pages */
    TERN_MEM_FILE,    /* in a file that the program has chosen */
    TERN_MEM_PRIVATE, /* memory that only its process maps */
};

/* Memory handle: what a rank tells the other ranks about its part. It travels between processes: fixed widths, no
 * padding. */
struct tern_mem_handle {
    uint64_t region; /* the owner's name for the part; unique among the parts of the owner */
    uint64_t addr;   /* in the owner's address space */
    uint64_t size;   /* bytes that peers may access */
    uint64_t offset; /* offset in the file that is mapped at addr; PRIVATE: 0 if peers cannot map that file */
    uint64_t device; /* FILE: identity of the file, with inode */
    uint64_t inode;  /* inode of the file; 0: PRIVATE memory that is not in a file that peers can map */
    uint64_t probe;  /* PRIVATE: address of the process's tern_link_probe */
    uint64_t key;    /* network key of the memory, and base: its address on the network. Both are filled by expose */
    uint64_t base;
    uint32_t mem_kind; /* enum tern_mem_kind */
    int32_t  pid;
};
_Static_assert(sizeof(struct tern_mem_handle) == 80, "a card has no padding");

/* Convert the number that an owner uses for its part into the part's name, or the name into the number. A message to
 * the owner carries the number, so that it need not name the owner. */
static inline uint64_t tern_link_region_of(int owner, uint64_t number_or_name)
{
    return number_or_name ^ (uint64_t)owner << 40;
}

/* Return the position of the first byte of a part within all memory of its node. The position depends on the memory
 * alone, not on the address or region through which it is reached: parts that overlap in memory overlap in their
 * positions. The locks of accumulates are chosen by position (op/atomic/acc.h). Parts of different files may happen to
 * have equal positions. */
static inline uint64_t tern_link_origin(const struct tern_mem_handle *handle, int rank)
{
    uint64_t owner = handle->inode != 0 ? handle->inode : ~(uint64_t)rank;

    return (owner * 0x9e3779b97f4a7c15ull << 20) + (handle->inode != 0 ? handle->offset : handle->addr);
}

/* Words that a peer reads and writes to find out whether the kernel permits access. Both hold the job's number. */
struct tern_link_probe {
    uint64_t readable, writable;
};
extern struct tern_link_probe tern_link_probe;

#endif

/* memory.h: memory handles: what a rank tells the other ranks about its part of a region.
 *
 * A handle is a common part and one key for each link that needs one to reach the memory: a blob in the format of that
 * link, which expose writes and attach reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/blob.h"
#include "base/read_once.h"
#include "base/status.h"

#define TERN_MEM_KEYS 84 /* bytes for the keys of all links */

/* Where the memory of a part is located. */
enum tern_mem_kind {
    TERN_MEM_NONE,    /* the rank is not in the region's team, or exposes no memory */
    TERN_MEM_ARENA,   /* at an offset of the arena */
    TERN_MEM_HUGE,    /* at an offset of the arena of huge pages */
    TERN_MEM_FILE,    /* in a file that the program has chosen */
    TERN_MEM_PRIVATE, /* memory that only its process maps */
    /* no memory of its own: the part stands for the memory that its rank attaches to the region
     * (core/region_dynamic.h). This kind is in no handle */
    TERN_MEM_DYNAMIC,
};

/* Return whether the process that owns memory of this kind reaches it by loads and stores at its address. */
static inline bool tern_link_kind_loads(uint32_t mem_kind)
{
    return mem_kind == TERN_MEM_ARENA || mem_kind == TERN_MEM_HUGE || mem_kind == TERN_MEM_FILE ||
           mem_kind == TERN_MEM_PRIVATE;
}

/* Memory handle: what a rank tells the other ranks about its part. It travels between processes: fixed widths, no
 * padding. */
struct tern_mem_handle {
    uint64_t      region;   /* the owner's name for the part; unique among the parts of the owner */
    uint64_t      addr;     /* in the owner's address space */
    uint64_t      size;     /* bytes that peers may access */
    uint64_t      reserve;  /* bytes that the part can grow to; at least size */
    uint64_t      offset;   /* offset in the file that is mapped at addr; PRIVATE: 0 if peers cannot map that file */
    uint64_t      device;   /* FILE: identity of the file, with inode */
    uint64_t      inode;    /* inode of the file; 0: PRIVATE memory that is not in a file that peers can map */
    uint64_t      probe;    /* PRIVATE: address of the process's tern_link_probe */
    uint32_t      mem_kind; /* enum tern_mem_kind */
    int32_t       pid;
    uint32_t      key_bytes;           /* bytes of keys that are in use */
    unsigned char keys[TERN_MEM_KEYS]; /* a list of blobs (base/blob.h), by the numbers of the links */
};
_Static_assert(sizeof(struct tern_mem_handle) == 160, "a memory handle has no padding");

/* Add the key of a link. Returns TERN_OK. TERN_ERR_RANGE: there is no space, or the link has added one before. */
static inline tern_status tern_link_key_add(struct tern_mem_handle *handle, uint16_t link, const void *key, size_t len)
{
    size_t used = tern_base_blob_add(handle->keys, sizeof(handle->keys), handle->key_bytes, link, key, len);

    if (used == 0)
        return tern_base_fail(TERN_ERR_RANGE, "no space for a key of %zu bytes in a memory handle", len);
    handle->key_bytes = (uint32_t)used;
    return TERN_OK;
}

/* Copy the key of a link, which has exactly len bytes, from a handle that may contain anything. Returns TERN_OK.
 * TERN_ERR_LINK: the handle of the rank contains no such key. */
static inline tern_status tern_link_key_get(const struct tern_mem_handle *handle, int rank, uint16_t link, void *key,
                                            size_t len)
{
    size_t               used = handle->key_bytes <= sizeof(handle->keys) ? handle->key_bytes : 0, found = 0;
    const unsigned char *bytes = tern_base_blob_find(handle->keys, used, link, &found);

    if (!bytes)
        return tern_base_fail(TERN_ERR_LINK,
                              "rank %d offers its memory through another network link than this rank, because their "
                              "machines have different networks; set TERN_LINKS for all ranks alike",
                              rank);
    if (found != len)
        return tern_base_fail(TERN_ERR_LINK, "rank %d sent a memory handle without a valid key for link %u", rank,
                              link);
    memcpy(key, bytes, len);
    return TERN_OK;
}

/* Return the number of bytes of a handle in a message, where the unused bytes of keys are omitted. */
static inline size_t tern_link_handle_bytes(const struct tern_mem_handle *handle)
{
    return (size_t)tern_base_round_up(offsetof(struct tern_mem_handle, keys) + handle->key_bytes, 8);
}

/* Read a handle from the len bytes of a message, which may contain anything and may change meanwhile. Returns the
 * number of bytes that the handle has there; 0: the bytes are not a handle. */
static inline size_t tern_link_handle_read(struct tern_mem_handle *handle, const unsigned char *bytes, size_t len)
{
    const size_t common = offsetof(struct tern_mem_handle, keys);

    if (len < common)
        return 0;
    tern_base_copy_once(handle, bytes, common);
    if (handle->key_bytes > sizeof(handle->keys) || len < tern_link_handle_bytes(handle))
        return 0;
    memcpy(handle->keys, bytes + common, handle->key_bytes);
    return tern_link_handle_bytes(handle);
}

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

/* link_parts.h: memory of every kind for the link contract suite: allocated, announced to the other ranks, attached and
 * detached.
 */
#ifndef TERN_LINK_PARTS_H
#define TERN_LINK_PARTS_H

#include "link_test.h"

/* One region as a rank sees it. */
struct parts {
    uint32_t              mem_kind;
    uint64_t              id, size;
    unsigned char        *mine;
    struct tern_space     space; /* ARENA */
    struct tern_link_part part[MAX_RANKS];
};

static inline void own_arena(struct rank *r, struct parts *p, struct tern_mem_handle *handle)
{
    EXPECT(tern_boot_space_take(&r->boot, r->boot.arena, p->size, &p->space) == TERN_OK);
    p->mine = mmap(NULL, p->space.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->boot.arena, (off_t)p->space.offset);
    EXPECT((void *)p->mine != MAP_FAILED);
    handle->offset = p->space.offset;
}

static inline void own_file(struct rank *r, struct parts *p, struct tern_mem_handle *handle)
{
    char       *name = r->board->path[r->me];
    struct stat about;
    int         file;

    snprintf(name, sizeof(r->board->path[0]), "/tmp/tern-link-XXXXXX");
    file = mkstemp(name);
    EXPECT(file >= 0 && ftruncate(file, (off_t)p->size) == 0 && fstat(file, &about) == 0);
    p->mine = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT((void *)p->mine != MAP_FAILED);
    close(file);
    handle->device = about.st_dev;
    handle->inode = about.st_ino;
}

/* Allocate this rank's own memory and make its memory handle. */
static inline void parts_own(struct rank *r, struct parts *p)
{
    struct tern_mem_handle handle = { .region = p->id, .size = p->size, .mem_kind = p->mem_kind, .pid = getpid() };

    if (p->mem_kind == TERN_MEM_ARENA)
        own_arena(r, p, &handle);
    else if (p->mem_kind == TERN_MEM_FILE)
        own_file(r, p, &handle);
    else
        EXPECT((p->mine = calloc(1, p->size)) != NULL);
    handle.addr = (uint64_t)(uintptr_t)p->mine;
    if (p->mem_kind == TERN_MEM_PRIVATE)
        handle.probe = (uint64_t)(uintptr_t)&tern_link_probe;
    r->board->handle[r->me] = handle;
}

/* Fill a part as the core does before attach. */
static inline void part_attach(struct rank *r, struct parts *p, int rank)
{
    const struct tern_mem_handle *handle = &r->board->handle[rank];

    p->part[rank] = (struct tern_link_part){
        .size = handle->size, .addr = handle->addr, .region = handle->region, .rank = rank, .pid = handle->pid
    };
    EXPECT(r->ops->attach(r->link, handle, r->board->path[rank], &p->part[rank]) == TERN_OK);
    EXPECT(p->part[rank].path != NULL && p->part[rank].path->name != NULL && p->part[rank].path->start != NULL);
    EXPECT(p->part[rank].size == p->size && p->part[rank].rank == rank);
}

static inline void parts_make(struct rank *r, struct parts *p, uint32_t mem_kind, uint64_t size)
{
    static uint64_t ids;

    *p = (struct parts){ .mem_kind = mem_kind, .id = 1000 + ids++, .size = size };
    parts_own(r, p);
    EXPECT(r->ops->expose(r->link, &r->board->handle[r->me]) == TERN_OK);
    meet(r); /* all memory handles are on the board */
    for (int rank = 0; rank < r->ranks; rank++)
        part_attach(r, p, rank);
    meet(r); /* the board may be written again */
}

static inline void parts_drop(struct rank *r, struct parts *p)
{
    meet(r);
    for (int rank = 0; rank < r->ranks; rank++)
        r->ops->detach(r->link, &p->part[rank]);
    r->ops->unexpose(r->link, p->id);
    if (p->mem_kind == TERN_MEM_PRIVATE) {
        free(p->mine);
    } else if (p->mem_kind == TERN_MEM_FILE) {
        munmap(p->mine, p->size);
        EXPECT(unlink(r->board->path[r->me]) == 0);
    } else {
        munmap(p->mine, p->space.bytes);
        tern_boot_space_give(&p->space);
    }
    meet(r);
}

static inline tern_status move(struct rank *r, const struct parts *p, int to, uint64_t offset, void *local, size_t len,
                               bool get)
{
    struct tern_xfer xfer = { .part = &p->part[to], .offset = offset, .local = local, .len = len, .get = get };

    return transfer(r, &xfer);
}

/* A byte that encodes its writer and position. */
static inline unsigned char mark(int who, unsigned when, size_t where)
{
    return (unsigned char)(1 + ((unsigned)who * 31 + when * 17 + where * 3 + where / 251) % 255);
}

static inline void mark_fill(unsigned char *at, size_t len, int who, unsigned when)
{
    for (size_t i = 0; i < len; i++)
        at[i] = mark(who, when, i);
}

static inline bool mark_holds(const unsigned char *at, size_t len, int who, unsigned when)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] != mark(who, when, i))
            return false;
    return true;
}

#endif

/* memget.c: memory that a rank allocates without the other ranks (ARMCI_Memget).
 *
 * The memory comes from a heap. The heap is an allocation like those of ARMCI_Malloc, and ARMCI_Init creates the heap
 * if the option TERN_ARMCI_MEMGET names its size. Therefore all calls of ARMCI accept addresses in the heap, and ranks
 * of the node can load from the heap and store to the heap. A rank allocates memory in its own part of the heap. An
 * armci_meminfo_t, which the program sends to other ranks, describes the memory to these ranks. This record contains
 * the offset in the part of the owner, because each rank of the node has its own address for the part.
 */
#include <stdlib.h>

#include "state.h"

#define LINE 64 /* alignment of the memory in bytes */

/* The memory of one ARMCI_Memget. */
struct piece {
    uint64_t      offset, bytes; /* multiples of LINE */
    struct piece *next;
};

static void        **parts;  /* [size] the address that this rank uses for the heap's part at each rank */
static struct piece *pieces; /* the memory in use in this rank's part, in ascending order */

uint64_t tern_armci_wished_heap(const char *call)
{
    const char *value = getenv("TERN_ARMCI_MEMGET");
    char       *end;
    uint64_t    number;
    int         shift;

    if (value == NULL || value[0] == '\0')
        return 0;
    number = strtoull(value, &end, 10);
    shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift > 0)
        end++;
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || number > (uint64_t)INT64_MAX >> shift)
        tern_front_die(call, "TERN_ARMCI_MEMGET is \"%s\"; it must be a number of bytes, such as 65536, 64K or 1G",
                       value);
    return number << shift;
}

void tern_armci_start_heap(const char *call, uint64_t bytes)
{
    parts = tern_front_alloc(call, (size_t)tern_armci.size, sizeof *parts);
    tern_armci.heap = tern_armci_malloc(call, parts, (armci_size_t)bytes, &tern_armci.world);
    if (tern_armci.heap == NULL)
        tern_front_die(call, "there is not enough memory for the %lu bytes of TERN_ARMCI_MEMGET", (unsigned long)bytes);
}

void tern_armci_drop_heap(void)
{
    while (pieces != NULL) {
        struct piece *piece = pieces;

        pieces = piece->next;
        free(piece);
    }
    free(parts);
    parts = NULL;
}

/* Return the size of a rank's part of the heap. */
static uint64_t part_bytes(int proc)
{
    return tern_armci.heap != NULL ? tern_region_size(tern_armci.heap->region, proc) : 0;
}

/* Allocate memory in the first gap of this rank's part that is long enough. Returns NULL if there is no such gap. */
static const struct piece *take(const char *call, uint64_t bytes)
{
    struct piece **link = &pieces, *piece;
    uint64_t       begin = 0, end = part_bytes(tern_armci.me) / LINE * LINE;

    if (bytes > end)
        return NULL;
    bytes = (bytes + LINE - 1) / LINE * LINE;
    while (*link != NULL && (*link)->offset - begin < bytes) {
        begin = (*link)->offset + (*link)->bytes;
        link = &(*link)->next;
    }
    if (end - begin < bytes)
        return NULL;
    piece = tern_front_alloc(call, 1, sizeof *piece);
    *piece = (struct piece){ .offset = begin, .bytes = bytes, .next = *link };
    *link = piece;
    return piece;
}

/* Check a record, which may come from another rank. */
static void check(const char *call, const armci_meminfo_t *meminfo)
{
    uint64_t bytes;

    tern_armci_check_running(call);
    if (meminfo == NULL)
        tern_front_die(call, "the pointer to the armci_meminfo_t is NULL");
    tern_armci_check_rank(call, meminfo->cpid);
    bytes = part_bytes(meminfo->cpid);
    if (meminfo->size == 0 || (uint64_t)meminfo->idlist[0] > bytes ||
        meminfo->size > bytes - (uint64_t)meminfo->idlist[0])
        tern_front_die(call, "%zu bytes at %p of rank %d are not memory of ARMCI_Memget", meminfo->size,
                       (void *)meminfo->armci_addr, meminfo->cpid);
}

ARMCI_EXPORT void PARMCI_Memget(size_t bytes, armci_meminfo_t *meminfo, int memflg)
{
    const char         *call = "ARMCI_Memget";
    const struct piece *piece;

    (void)memflg; /* all memory of the heap is of one kind */
    tern_armci_check_running(call);
    if (meminfo == NULL || bytes == 0)
        tern_front_die(call, "the size is %zu, and the pointer to the armci_meminfo_t is %p; neither may be 0", bytes,
                       (void *)meminfo);
    tern_armci_enter();
    piece = take(call, bytes);
    tern_armci_leave();
    if (piece == NULL)
        tern_front_die(call,
                       "%zu contiguous bytes are not free in the %lu bytes that this rank has for ARMCI_Memget; set "
                       "TERN_ARMCI_MEMGET to the number of bytes that each rank needs, for instance 64M",
                       bytes, (unsigned long)part_bytes(tern_armci.me));
    *meminfo = (armci_meminfo_t){ .size = bytes, .cpid = tern_armci.me, .idlist = { (long)piece->offset } };
    meminfo->addr = meminfo->armci_addr = (char *)parts[tern_armci.me] + piece->offset;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Memget, PARMCI_Memget);

ARMCI_EXPORT void *PARMCI_Memat(armci_meminfo_t *meminfo, long offset)
{
    check("ARMCI_Memat", meminfo);
    if (offset < 0 || (size_t)offset >= meminfo->size)
        tern_front_die("ARMCI_Memat", "the offset is %ld; the memory has %zu bytes", offset, meminfo->size);
    return (char *)parts[meminfo->cpid] + meminfo->idlist[0] + offset;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Memat, PARMCI_Memat);

/* End the use of memory of another rank at this rank. The memory stays mapped until ARMCI_Finalize. */
ARMCI_EXPORT void ARMCI_Memdt(armci_meminfo_t *meminfo, long offset)
{
    (void)offset;
    check("ARMCI_Memdt", meminfo);
}

/* Free memory. At ranks other than the one that has allocated it, the call has no effect. */
ARMCI_EXPORT void ARMCI_Memctl(armci_meminfo_t *meminfo)
{
    struct piece **link = &pieces, *piece;

    check("ARMCI_Memctl", meminfo);
    if (meminfo->cpid != tern_armci.me)
        return;
    tern_armci_enter();
    while (*link != NULL && (*link)->offset != (uint64_t)meminfo->idlist[0])
        link = &(*link)->next;
    piece = *link;
    if (piece == NULL)
        tern_front_die("ARMCI_Memctl", "the memory at %p has been freed", (void *)meminfo->armci_addr);
    *link = piece->next;
    tern_armci_leave();
    free(piece);
}

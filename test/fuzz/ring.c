/* ring.c: a message ring whose producer is hostile. The input gives the size of the ring, the position of the consumer
 * and the contents of each cell.
 *
 * Promise: the consumer reads only the ring, terminates, and reports "damaged" where it cannot continue. */
#include "fuzz/fuzz.h"

#include "base/spsc_ring.h"

struct said {
    uint8_t  mark; /* 0: the expected lap, 1: the previous lap, else: this value */
    uint8_t  kind; /* 0: skip, 1: no data, else: this value */
    uint16_t len, at, span;
};

static void write_cells(struct tern_ring *ring, struct tern_ring_shape shape, uint64_t from, const uint8_t **data,
                        size_t *size)
{
    for (uint32_t i = 0; i < shape.cells; i++) {
        struct tern_ring_cell *cell = &ring->cell[(from + i) & (shape.cells - 1)];
        uint32_t               lap = tern_base_ring_lap(from + i, shape);
        struct said            said;

        if (*size == 0)
            said = (struct said){ .mark = 1 };
        else
            fuzz_take(data, size, &said, sizeof(said));
        atomic_store(&cell->mark, said.mark < 2 ? lap - said.mark : said.mark);
        cell->len = said.kind == 0   ? TERN_RING_SKIP
                    : said.kind == 1 ? 0
                                     : (uint32_t)(said.len + (said.kind & 1) * 65536u);
        cell->at = said.kind > 250 ? UINT32_MAX - said.at : said.at;
        cell->span = said.kind > 253 ? UINT32_MAX - said.span : said.span;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t       sizes[] = { 832, 1024, 4096, 65536 };
    struct tern_ring_consumer consumer;
    struct tern_ring_shape    shape;
    struct tern_ring_item     item;
    uint8_t                   which;
    uint64_t                  from;
    uint32_t                  count = 0;
    void                     *memory;
    int                       found;

    fuzz_take(&data, &size, &which, sizeof(which));
    fuzz_take(&data, &size, &from, sizeof(from));
    shape = tern_base_ring_shape(sizes[which % 4]);
    MUST(shape.cells > 0);
    MUST((memory = aligned_alloc(TERN_RING_LINE, sizes[which % 4])) != NULL);
    memset(memory, 0, sizes[which % 4]);
    tern_base_ring_consumer_init(&consumer, memory, shape);
    consumer.next = from;
    write_cells(memory, shape, from, &data, &size);
    while ((found = tern_base_ring_peek(&consumer, &item)) > 0) {
        MUST(++count <= 2 * shape.cells);
        fuzz_touch(item.head, TERN_RING_HEAD);
        fuzz_touch(item.data, item.len);
        tern_base_ring_consume(&consumer, item.span);
    }
    free(memory);
    return 0;
}

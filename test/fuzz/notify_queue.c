/* notify_queue.c: a notification queue whose producer is hostile. The input gives the numbers of primary and overflow
 * cells, the position of the consumer, and the contents of each cell.
 *
 * Promise: the consumer reads only the cells, terminates, and reports "damaged" where it cannot continue. */
#include "fuzz/fuzz.h"

#include "base/notify_queue.h"

struct said {
    uint8_t turn; /* 0: the expected one, 1: the previous one, 2: none, else: this value */
    uint8_t kind;
};

static void write_cells(struct tern_nq_cell *cell, uint32_t cells, uint64_t from, const uint8_t **data, size_t *size)
{
    for (uint32_t i = 0; i < cells; i++) {
        uint64_t    position = from + i;
        struct said said = { .turn = 2 };

        if (*size > 0)
            fuzz_take(data, size, &said, sizeof(said));
        if (said.turn == 1)
            position -= cells;
        else if (said.turn > 2)
            position += said.turn;
        atomic_store(&cell[(from + i) & (cells - 1)].stamp,
                     said.turn == 2 ? 0 : tern_base_nq_stamp(position, said.kind % 32));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_nq_consumer consumer;
    uint8_t                 which;
    uint32_t                near, far, count = 0;
    uint64_t                from[TERN_NQ_ROWS] = { 0 };
    const unsigned char    *head;
    unsigned                kind;
    void                   *memory[TERN_NQ_ROWS];
    size_t                  bytes[TERN_NQ_ROWS];

    fuzz_take(&data, &size, &which, sizeof(which));
    fuzz_take(&data, &size, from, sizeof(from));
    near = TERN_NQ_MIN_CELLS << which % 4;
    far = TERN_NQ_MIN_CELLS << which / 4 % 4;
    bytes[TERN_NQ_PRIMARY] = tern_base_nq_bytes(near);
    bytes[TERN_NQ_OVERFLOW] = far * sizeof(struct tern_nq_cell);
    for (unsigned r = 0; r < TERN_NQ_ROWS; r++) {
        from[r] &= UINT32_MAX;
        MUST((memory[r] = aligned_alloc(TERN_NQ_LINE, bytes[r])) != NULL);
        memset(memory[r], 0, bytes[r]);
    }
    tern_base_nq_consumer_init(&consumer, memory[TERN_NQ_PRIMARY], near);
    tern_base_nq_map_overflow(&consumer, memory[TERN_NQ_OVERFLOW], far);
    for (unsigned r = 0; r < TERN_NQ_ROWS; r++)
        consumer.row[r].next = from[r];
    write_cells(consumer.shared->primary, near, from[TERN_NQ_PRIMARY], &data, &size);
    write_cells(memory[TERN_NQ_OVERFLOW], far, from[TERN_NQ_OVERFLOW], &data, &size);
    while (tern_base_nq_peek(&consumer, &head, &kind) > 0) {
        MUST(++count <= near + far); /* each primary cell is read once, and an overflow cell is cleared */
        fuzz_touch(head, TERN_NQ_HEAD);
        tern_base_nq_consume(&consumer, kind);
    }
    free(memory[TERN_NQ_PRIMARY]);
    free(memory[TERN_NQ_OVERFLOW]);
    return 0;
}

/* cells.c: a queue of cells whose producer is hostile. The input says how many near and far cells there are, how far
 * the consumer has come, and what each cell says.
 *
 * Promise: the consumer reads only the cells, comes to an end, and says "damaged" where it cannot go on. */
#include "fuzz/fuzz.h"

#include "base/cells.h"

struct said {
    uint8_t turn; /* 0: the one that is waited for, 1: the one before, 2: none, else: as it is */
    uint8_t kind;
};

static void write_cells(struct tern_cell *cell, uint32_t cells, uint64_t from, const uint8_t **data, size_t *size)
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
                     said.turn == 2 ? 0 : tern_base_cell_stamp(position, said.kind % 32));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_cells_consumer consumer;
    uint8_t                    which;
    uint32_t                   near, far, count = 0;
    uint64_t                   from[TERN_CELLS_ROWS] = { 0 };
    const unsigned char       *head;
    unsigned                   kind;
    void                      *memory[TERN_CELLS_ROWS];
    size_t                     bytes[TERN_CELLS_ROWS];

    fuzz_take(&data, &size, &which, sizeof(which));
    fuzz_take(&data, &size, from, sizeof(from));
    near = TERN_CELLS_FEWEST << which % 4;
    far = TERN_CELLS_FEWEST << which / 4 % 4;
    bytes[TERN_CELLS_AT_NEAR] = tern_base_cells_bytes(near);
    bytes[TERN_CELLS_AT_FAR] = far * sizeof(struct tern_cell);
    for (unsigned r = 0; r < TERN_CELLS_ROWS; r++) {
        from[r] &= UINT32_MAX;
        MUST((memory[r] = aligned_alloc(TERN_CELL_LINE, bytes[r])) != NULL);
        memset(memory[r], 0, bytes[r]);
    }
    tern_base_cells_consume_from(&consumer, memory[TERN_CELLS_AT_NEAR], near);
    tern_base_cells_far_from(&consumer, memory[TERN_CELLS_AT_FAR], far);
    for (unsigned r = 0; r < TERN_CELLS_ROWS; r++)
        consumer.row[r].next = from[r];
    write_cells(consumer.shared->near, near, from[TERN_CELLS_AT_NEAR], &data, &size);
    write_cells(memory[TERN_CELLS_AT_FAR], far, from[TERN_CELLS_AT_FAR], &data, &size);
    while (tern_base_cells_peek(&consumer, &head, &kind) > 0) {
        MUST(++count <= near + far); /* near ones once each, and a far one is cleared */
        fuzz_touch(head, TERN_CELL_HEAD);
        tern_base_cells_consume(&consumer, kind);
    }
    free(memory[TERN_CELLS_AT_NEAR]);
    free(memory[TERN_CELLS_AT_FAR]);
    return 0;
}

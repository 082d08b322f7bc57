/* message.c: the wavefront by messages: receive, compute, send. */
#include <stdlib.h>

#include "common/app.h"
#include "common/message.h"
#include "stencil/stencil.h"

static void *message_begin(const struct stencil *s, size_t bytes)
{
    (void)s;
    message_open();
    return app_memory(bytes);
}

static void message_run(const struct stencil *s, int rank)
{
    for (int i = 0; i < s->iterations; i++) {
        double *end = s->grid, corner;

        for (size_t row = 1; row < s->rows; row++) {
            if (s->left >= 0)
                message_receive(s->left, HALO, stencil_row(s, row), sizeof(double));
            end = stencil_update(s, row);
            if (s->right >= 0)
                message_send(s->right, HALO, end, sizeof(double));
        }
        corner = -*end;
        if (rank == s->first && rank == s->last)
            s->grid[0] = corner;
        else if (rank == s->last)
            message_send(s->first, CORNER, &corner, sizeof(corner));
        else if (rank == s->first)
            message_receive(s->last, CORNER, s->grid, sizeof(corner));
    }
}

static void message_end(void *memory)
{
    message_close();
    free(memory);
}

const struct stencil_style stencil_message = { message_begin, message_run, message_end };

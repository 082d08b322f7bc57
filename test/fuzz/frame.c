/* frame.c: frames that a node receives from the hub, and what the node writes into its segment because of them.
 *
 * Promise: the decoder accepts only whole frames and reports what is wrong with other bytes. A decoded frame is encoded
 * to the same bytes. An invalid frame changes nothing in the segment, and no frame accesses memory beyond it. */
#include "fuzz/fuzz.h"

#include "base/options.h"
#include "boot/boot.h"
#include "boot/frame.h"
#include "boot/relay.h"

static const int32_t node_of[] = { 0, 0, 1, 1, 2 };

static struct {
    struct tern_segment *segment; /* of node 1 */
    unsigned char       *fresh;   /* its initial contents */
    size_t               bytes;
} job;

static void make_job(void)
{
    struct tern_boot_shape shape = { .ranks = 5, .nodes = 3, .node = 1, .node_of = node_of, .cores = 4, .job = 4711 };
    int                    arena, huge;

    MUST(tern_base_options_load(NULL) == TERN_OK);
    tern_opt.on_failure = TERN_ON_FAILURE_RETURN; /* arrivals then carry data */
    MUST(tern_boot_arena_shape(&shape, &arena, &huge, &job.segment) == TERN_OK);
    job.bytes = tern_segment_bytes(5, true);
    job.fresh = fuzz_copy((const uint8_t *)job.segment, job.bytes);
}

static void check_decoded(const uint8_t *data, size_t used, const struct tern_frame *frame)
{
    unsigned char head[TERN_FRAME_HEAD];

    MUST(used == TERN_FRAME_HEAD + (size_t)frame->len && frame->kind > TERN_FRAME_NONE);
    MUST(frame->kind < TERN_FRAME_KIND_COUNT && frame->len <= tern_boot_frame_longest(frame->kind));
    tern_boot_frame_encode(frame, head);
    MUST(memcmp(head, data, sizeof(head)) == 0);
    fuzz_touch(frame->body, frame->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_relay *relay;
    struct tern_frame  frame;
    uint8_t           *bytes, *before = malloc(job.bytes > 0 ? job.bytes : 1);
    uint8_t            starts;
    size_t             used, at = 0;

    if (!job.segment) {
        make_job();
        before = realloc(before, job.bytes);
    }
    MUST(before != NULL);
    memcpy(job.segment, job.fresh, job.bytes);
    MUST(tern_boot_relay_open(job.segment, &relay) == TERN_OK);
    fuzz_take(&data, &size, &starts, sizeof(starts));
    bytes = fuzz_copy(data, size);
    while ((used = tern_boot_frame_decode(bytes + at, size - at, starts & 1, &frame)) != TERN_FRAME_SHORT &&
           used != TERN_FRAME_BAD) {
        check_decoded(bytes + at, used, &frame);
        memcpy(before, job.segment, job.bytes);
        if (!tern_boot_relay_apply(relay, &frame))
            MUST(memcmp(before, job.segment, job.bytes) == 0);
        tern_boot_relay_ring(relay);
        at += used;
    }
    tern_boot_relay_close(relay);
    free(before);
    free(bytes);
    return 0;
}

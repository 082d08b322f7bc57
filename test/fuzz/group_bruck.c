/* group_bruck.c: messages of a group whose barriers use messages. The input gives the number of this member and, for
 * each message, its sender, its header and the length of its data.
 *
 * Promise: a message is either accepted or refused. The data of accepted messages can be read to the end, and none of
 * it replaces the data of this member. */
#include "fuzz/fuzz.h"

#include "base/options.h"
#include "core/group_bruck.h"
#include "core/job.h"

#define RANKS 5

static const int32_t node_of[RANKS] = { 0, 0, 1, 1, 2 };

static void make_job(void)
{
    struct tern_boot_shape shape = { .ranks = RANKS, .nodes = 3, .node_of = node_of, .cores = 1, .job = 1 };

    MUST(tern_base_options_load(NULL) == TERN_OK);
    tern_job.boot = (struct tern_boot){ .ranks = RANKS, .nodes = 3, .relay_fd = -1 };
    MUST(tern_boot_arena_shape(&shape, &tern_job.boot.arena, &tern_job.boot.huge, &tern_job.boot.segment) == TERN_OK);
}

static void take_one(struct bruck *bruck, const uint8_t **data, size_t *size)
{
    struct {
        uint8_t          from, len[2];
        struct core_wire head;
    } __attribute__((packed)) said;
    struct core_wire        head;
    struct bruck_stream_in *in;
    unsigned char          *bytes;
    size_t                  len;

    fuzz_take(data, size, &said, sizeof(said));
    len = (size_t)said.len[0] | (size_t)(said.len[1] & 3) << 8;
    len = len < *size ? len : *size;
    bytes = fuzz_copy(*data, len);
    *data += len;
    *size -= len;
    memcpy(&head, &said.head, sizeof(head));
    head.barrier &= 1; /* other values are refused earlier */
    if ((in = tern_core_bruck_stream_in(bruck, said.from % RANKS, &head)))
        tern_core_stream_receive(bruck, in, &head, bytes, len);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_link_group as = { .id = 7, .size = RANKS }, *group;
    struct bruck          *bruck;
    uint8_t                me;

    if (!tern_job.boot.segment)
        make_job();
    fuzz_take(&data, &size, &me, sizeof(me));
    as.me = me % RANKS;
    tern_job.boot.rank = (int)as.me;
    tern_job.boot.node = node_of[as.me];
    MUST(tern_core_bruck_group.open(NULL, &as, &group) == TERN_OK);
    bruck = (struct bruck *)group;
    while (size > 0)
        take_one(bruck, &data, &size);
    for (unsigned parity = 0; parity < 2; parity++)
        for (uint32_t i = 0; i < RANKS; i++) {
            const struct bruck_contribution *note = &bruck->contributions[parity][i];
            MUST(note->len <= note->capacity && note->len <= TERN_LINK_CONTRIBUTION && (i != as.me || note->len == 0));
            fuzz_touch(note->bytes, note->len);
        }
    group->ops->close(group);
    return 0;
}

/* notified.c: the wavefront by notified puts: each value goes to where it is needed, and its target is told. The context is
 * a strict one, so the next notification of a halo is always that of the next row. */
#include "common/check.h"
#include "stencil/stencil.h"

static tern_ctx    *ctx;
static tern_region *region;
static tern_notice *halo, *corner_set;

static void *notified_begin(const struct stencil *s, size_t bytes)
{
    CHECK(tern_ctx_create(tern_ctx_team(TERN_WORLD), TERN_STRICT, &ctx));
    CHECK(tern_region_alloc(TERN_WORLD, bytes, NULL, &region));
    CHECK(tern_notice_init(ctx, region, s->left >= 0 ? s->left : TERN_ANY_SOURCE, HALO, 1, &halo));
    CHECK(tern_notice_init(ctx, region, s->last, CORNER, 1, &corner_set));
    return tern_region_ptr(region, tern_rank());
}

static void await(tern_notice *notice)
{
    CHECK(tern_notice_start(notice));
    CHECK(tern_notice_wait(notice, TERN_FOREVER, NULL));
}

static void notified_run(const struct stencil *s, int rank)
{
    for (int i = 0; i < s->iterations; i++) {
        double *end = s->grid, corner;

        for (size_t row = 1; row < s->rows; row++) {
            if (s->left >= 0)
                await(halo);
            end = stencil_update(s, row);
            if (s->right >= 0)
                CHECK(tern_put_notify_nbi(ctx, region, s->right, stencil_offset(s, row), end, sizeof(*end), HALO));
        }
        corner = -*end;
        if (rank == s->last)
            CHECK(tern_put_notify_nbi(ctx, region, s->first, 0, &corner, sizeof(corner), CORNER));
        if (rank == s->first)
            await(corner_set);
        CHECK(tern_quiet(ctx)); /* what was put may be overwritten */
    }
}

static void notified_end(void *memory)
{
    (void)memory;
    CHECK(tern_notice_free(corner_set));
    CHECK(tern_notice_free(halo));
    CHECK(tern_region_free(region));
    CHECK(tern_ctx_destroy(ctx));
}

const struct stencil_style stencil_notified = { notified_begin, notified_run, notified_end };

/* payload.c: payload: packed puts over the network with negotiated payload, which packs the pieces directly into the
 * outgoing buffer, and with fixed payload, which packs the pieces into another buffer and copies that (the GASNet-EX
 * paper, figure 6).
 *
 * The two variants differ only in one option of the library (TERN_PAYLOAD), so each is a job of its own, and the
 * jobs alternate as in compare.
 */
#include "compare.h"

static const struct runner ways[] = {
    { .name = "negotiated",
      .link = "negotiated",
      .env = (char *[]){ (char[]){ "TERN_PAYLOAD=negotiated" }, NULL },
      COMPARE_TERN_JOBS },
    { .name = "fixed",
      .link = "fixed",
      .env = (char *[]){ (char[]){ "TERN_PAYLOAD=fixed" }, NULL },
      COMPARE_TERN_JOBS },
};

static const struct compare_test transfers[] = {
    { .name = "strided_bw",
      .sizes = "128:2M",
      .element = "64",
      .window = "4",
      .metrics = { "bandwidth" },
      .unit = "MB/s" },
};

int perf_payload(const struct perf_options *o)
{
    const struct comparison all = { .title = "Packed puts over the network",
                                    .runners = ways,
                                    .runner_count = sizeof(ways) / sizeof(ways[0]),
                                    .tests = transfers,
                                    .test_count = sizeof(transfers) / sizeof(transfers[0]) };

    return compare_run(&all, o);
}

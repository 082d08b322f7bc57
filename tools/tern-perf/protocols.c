/* protocols.c: protocols: tagged messages of the same lengths with each protocol (docs/architecture.md): eager;
 * rendezvous with one get by the receiver (one_get); rendezvous with several gets (chunked); and rendezvous where
 * sender and receiver both copy (shared). The sizes at which one protocol overtakes another are the right defaults
 * of TERN_MSG_EAGER and TERN_MSG_CHUNKED.
 *
 * The variants differ only in the options of the library, so each is a job of its own, and the jobs alternate as in
 * compare. Messages that fit into a cell are sent inline in all variants. The eager variant uses the longest
 * possible queue; messages longer than a seventh of the queue, 576 KiB between two ranks, use rendezvous there too.
 */
#include "compare.h"

#define EAGER ((char[]){ "TERN_MSG_EAGER=1M" }), ((char[]){ "TERN_MSG_QUEUE=64M" })
#define FETCHED ((char[]){ "TERN_MSG_EAGER=0" })
#define ALONE ((char[]){ "TERN_MSG_PIECE=0" })
#define ONE_GET ((char[]){ "TERN_MSG_CHUNKED=1024T" })
#define CHUNKED ((char[]){ "TERN_MSG_CHUNKED=0" })

static const struct runner ways[] = {
    { .name = "eager", .link = "eager", .env = (char *[]){ EAGER, NULL }, COMPARE_TERN_JOBS },
    { .name = "one_get", .link = "one_get", .env = (char *[]){ FETCHED, ALONE, ONE_GET, NULL }, COMPARE_TERN_JOBS },
    { .name = "chunked", .link = "chunked", .env = (char *[]){ FETCHED, ALONE, CHUNKED, NULL }, COMPARE_TERN_JOBS },
    { .name = "shared", .link = "shared", .env = (char *[]){ FETCHED, NULL }, COMPARE_TERN_JOBS },
};

static const struct compare_test transfers[] = {
    { .name = "msg_lat", .sizes = "32,64,256,1K,4K,8K,16K,32K,64K", .metrics = { "half_rtt" }, .unit = "ns" },
    { .name = "msg_bw", .sizes = "4K,8K,16K,32K,64K,256K,1M,4M,16M", .metrics = { "bandwidth" }, .unit = "MB/s" },
};

int perf_protocols(const struct perf_options *o)
{
    const struct comparison all = { .title = "Tagged messages by each protocol",
                                    .runners = ways,
                                    .runner_count = sizeof(ways) / sizeof(ways[0]),
                                    .tests = transfers,
                                    .test_count = sizeof(transfers) / sizeof(transfers[0]) };

    return compare_run(&all, o);
}

/* job_test.h: checks and helpers shared by the job programs of test/api, test/stress and test/fault.
 *
 * A failed check prints the place, the rank, the condition and the reason. CHECK, OK, RETURNS, SAME and SAYS then abort
 * the whole job, so that the failure of one rank does not leave the others hanging. EXPECT and REQUIRE record the
 * failure in job_broken and continue: they are for tests in which ranks die and the survivors must run to the end. The
 * other helpers provide deterministic bytes, a random stream, and the kinds of memory that a region can have.
 */
#ifndef TERN_JOB_TEST_H
#define TERN_JOB_TEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern.h>

#include "sanitized.h"

#define JOB_SKIP 77
#define JOB_BROKEN 9 /* exit status of a program with a failed check */

__attribute__((weak)) const char *job_note; /* text printed with a failure, for example a seed. A program may set it */
__attribute__((weak)) int         job_broken;

static inline void job_say(const char *file, int line, const char *what, const char *why)
{
    const char *detail = tern_error_detail();

    fprintf(stderr, "%s:%d: rank %d: %s: %s%s%s%s%s%s\n", file, line, tern_rank(), what, why, *detail ? " (" : "",
            detail, *detail ? ")" : "", job_note ? " " : "", job_note ? job_note : "");
}

static inline void job_fail(const char *file, int line, const char *what, const char *why)
{
    job_say(file, line, what, why);
    tern_abort(JOB_BROKEN, "a check failed");
}

static inline void job_break(const char *file, int line, const char *what, const char *why)
{
    job_say(file, line, what, why);
    job_broken = JOB_BROKEN;
}

/* Check that the condition holds. */
#define CHECK(condition) ((condition) ? (void)0 : job_fail(__FILE__, __LINE__, #condition, "is false"))
#define REQUIRE(condition) ((condition) ? (void)0 : job_break(__FILE__, __LINE__, #condition, "is false"))

/* Check that the call returns the status. */
#define RETURNS(status, call) job_returns(__FILE__, __LINE__, status, call, #call, job_fail)
#define EXPECT(status, call) job_returns(__FILE__, __LINE__, status, call, #call, job_break)
typedef void       job_failure(const char *file, int line, const char *what, const char *why);
static inline void job_returns(const char *file, int line, tern_status want, tern_status got, const char *call,
                               job_failure *failure)
{
    char why[256];

    if (got == want)
        return;
    snprintf(why, sizeof(why), "returned %d, \"%.80s\", instead of %d, \"%.80s\"", (int)got, tern_strerror(got),
             (int)want, tern_strerror(want));
    failure(file, line, call, why);
}
#define OK(call) RETURNS(TERN_OK, call)

/* Check that the call fails with the status, and that the first function named in the error text is the called
 * function. */
#define REFUSES(status, call) (RETURNS(status, call), job_named(__FILE__, __LINE__, #call))
static inline void job_named(const char *file, int line, const char *call)
{
    const char *named = strstr(tern_error_detail(), "tern_");
    size_t      len = named ? strspn(named, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;

    if (named && strncmp(named, call, len) == 0 && call[len] == '(')
        return;
    job_fail(file, line, call, "is not named first in the error's text");
}

/* Check that both numbers are equal. */
#define SAME(a, b) job_same(__FILE__, __LINE__, (unsigned long long)(a), (unsigned long long)(b), #a " == " #b)
static inline void job_same(const char *file, int line, unsigned long long a, unsigned long long b, const char *what)
{
    char why[96];

    if (a == b)
        return;
    snprintf(why, sizeof(why), "is false: %llu and %llu", a, b);
    job_fail(file, line, what, why);
}

/* Check that the text of the last error contains the word. */
#define SAYS(word) \
    (strstr(tern_error_detail(), word) ? (void)0 : job_fail(__FILE__, __LINE__, word, "is not in the text"))

static inline void *job_new(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    CHECK(memory != NULL);
    return memory;
}

/* The rank of this process in the team of a context, and the rank in the job of a rank of that team. */
static inline int job_me(tern_ctx *ctx)
{
    return tern_team_rank(tern_ctx_team(ctx));
}

static inline int job_ranks(tern_ctx *ctx)
{
    return tern_team_size(tern_ctx_team(ctx));
}

static inline int job_world(tern_ctx *ctx, int rank)
{
    int world = -1;

    OK(tern_team_translate(tern_ctx_team(ctx), rank, tern_team_world(), &world));
    return world;
}

/* Whether all ranks are reached over the network, including the ranks on this machine. */
static inline bool job_network(void)
{
    const char *links = getenv("TERN_LINKS");

    return links && (strcmp(links, "ofi") == 0 || strcmp(links, "tcp") == 0);
}

/* Whether a rank of the job is reached over the network. */
static inline bool job_far(int rank)
{
    int on_node;

    return rank != tern_rank() &&
           (job_network() || tern_team_translate(tern_team_world(), rank, tern_team_node(), &on_node) < 0);
}

/* Whether the chaos link stands in front of the other links. In that case an operation may be refused although there is
 * space, an operation may be outstanding although its path is instant, and a refusal by the link is reported late. */
static inline bool job_chaos(void)
{
    return getenv("TERN_CHAOS") != NULL;
}

/* A small, fast random stream (xorshift with a multiplier); the seed must not be 0. */
static inline uint64_t job_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 2685821657736338717ull;
}

/* The seed of a random stream: the usual one, unless JOB_SEED=n in the environment gives another. */
static inline uint64_t job_seed(uint64_t usual)
{
    const char *given = getenv("JOB_SEED");

    return given ? strtoull(given, NULL, 0) * 1000003 + usual : usual;
}

/* A number that active message handlers change. A rank waits until the number reaches a minimum or the deadline
 * expires. */
struct job_count {
    const uint64_t *number;
    uint64_t        least;
};

static inline bool job_counted(void *count)
{
    const struct job_count *c = count;

    return *c->number >= c->least;
}

static inline tern_status job_await(const uint64_t *number, uint64_t least, tern_deadline deadline)
{
    return tern_wait_until(TERN_WORLD, job_counted, &(struct job_count){ number, least }, deadline);
}

/* A byte that encodes its writer, the time of writing, and its position. */
static inline unsigned char job_byte(unsigned who, unsigned when, uint64_t where)
{
    return (unsigned char)(1 + (who * 37 + when * 101 + where * 7 + (where >> 8) * 13 + (where >> 16) * 29) % 255);
}

static inline void job_fill(unsigned char *to, size_t len, unsigned who, unsigned when)
{
    for (size_t i = 0; i < len; i++)
        to[i] = job_byte(who, when, i);
}

#define HOLDS(at, len, who, when) job_holds(__FILE__, __LINE__, at, len, who, when)
static inline void job_holds(const char *file, int line, const unsigned char *at, size_t len, unsigned who,
                             unsigned when)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != job_byte(who, when, i)) {
            char what[160];
            snprintf(what, sizeof(what), "byte %zu of %zu is %u, not %u (writer %u, round %u)", i, len, at[i],
                     job_byte(who, when, i), who, when);
            job_fail(file, line, what, "data differ");
        }
    }
}

/* Read memory that a helper thread of this process writes when a peer puts to it. The two accesses are ordered through
 * the peer. The thread sanitizer sees only one process, so it cannot see this order, and suppressing each report takes
 * long. */
#if JOB_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#else
#define AnnotateIgnoreReadsBegin(file, line) ((void)0)
#define AnnotateIgnoreReadsEnd(file, line) ((void)0)
#define AnnotateIgnoreWritesBegin(file, line) ((void)0)
#define AnnotateIgnoreWritesEnd(file, line) ((void)0)
#endif

/* memcmp for such memory. */
static inline int job_differ(const void *a, const void *b, size_t len)
{
    int result;

    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    result = memcmp(a, b, len);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return result;
}

/* Whether such memory holds the bytes that HOLDS checks for. */
static inline bool job_put_holds(const unsigned char *at, size_t len, unsigned who, unsigned when)
{
    size_t i = 0;

    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    while (i < len && at[i] == job_byte(who, when, i))
        i++;
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return i == len;
}

#define ALL_ARE(at, len, byte) job_all_are(__FILE__, __LINE__, at, len, byte)
static inline void job_all_are(const char *file, int line, const unsigned char *at, size_t len, unsigned char byte)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != byte) {
            char what[96];
            snprintf(what, sizeof(what), "byte %zu of %zu is %u, not %u", i, len, at[i], byte);
            job_fail(file, line, what, "memory changed");
        }
    }
}

/* The number of bytes of memory behind the memory files of this job. */
static inline uint64_t job_arena_bytes(void)
{
    uint64_t    bytes = 0;
    struct stat about;
    char        name[64], target[64];

    for (int fd = 0; fd < 256; fd++) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(name, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        if (strstr(target, "memfd:tern") && fstat(fd, &about) == 0)
            bytes += (uint64_t)about.st_blocks * 512;
    }
    return bytes;
}

/* The kinds of memory that a region can have. */
enum job_kind { JOB_HOST, JOB_HUGE, JOB_FILE, JOB_REGISTERED, JOB_KINDS };

struct job_region {
    tern_region   *region;
    unsigned char *mine;   /* this rank's part */
    void          *memory; /* the memory of a registered region */
    char           path[64];
};

static inline const char *job_directory(void)
{
    const char *directory = getenv("TMPDIR");

    return directory && strlen(directory) < 24 ? directory : "/tmp";
}

/* Make a file name that all ranks of this job know and that no other job uses. The tag distinguishes the files of one
 * job. */
static inline void job_file_name(char *name, size_t size, unsigned tag)
{
    uint64_t mine = (uint64_t)getpid() ^ (uint64_t)tern_clock() << 20, all[64];

    CHECK(tern_size() <= 64);
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    snprintf(name, size, "%s/tern-test-%016llx-%u", job_directory(), (unsigned long long)all[0], tag);
}

static inline void job_region_make(struct job_region *r, enum job_kind kind, uint64_t size)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_HOST);

    *r = (struct job_region){ .region = NULL };
    if (kind == JOB_REGISTERED) {
        r->memory = r->mine = job_new(size);
        OK(tern_region_register(TERN_WORLD, r->memory, size, &r->region));
        return;
    }
    if (kind == JOB_HUGE)
        opts.memory = TERN_MEMORY_HUGE;
    if (kind == JOB_FILE) {
        job_file_name(r->path, sizeof(r->path), 0);
        opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = r->path);
    }
    OK(tern_region_create(TERN_WORLD, size, &opts, &r->region));
    r->mine = tern_region_ptr(r->region, tern_rank());
    CHECK(r->mine != NULL);
}

static inline void job_region_drop(struct job_region *r)
{
    char name[96];

    OK(tern_region_free(r->region));
    free(r->memory);
    if (r->path[0]) {
        snprintf(name, sizeof(name), "%s.%d", r->path, tern_rank());
        CHECK(unlink(name) == 0);
    }
}

#endif

/* job_test.h: what the job programs of test/api, test/stress and test/fault share.
 *
 * A failed check says where, which rank, what, and why. CHECK, OK, RETURNS, SAME and SAYS end the whole job then, so
 * that no test hangs on the failure of one rank. EXPECT and REQUIRE remember it (job_broken) and go on: for ranks that
 * are to see a job with deaths to its end, and for what they say on the way. The rest are small helpers: deterministic
 * bytes, a random stream, and the kinds of memory that a region can have.
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JOB_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JOB_SANITIZED 1
#endif
#endif
#ifndef JOB_SANITIZED
#define JOB_SANITIZED 0
#endif

#define JOB_SKIP 77
#define JOB_BROKEN 9 /* the status of a program with a failed check */

__attribute__((weak)) const char *job_note; /* printed with a failure: a seed, say. A program may set it */
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

/* The condition holds. */
#define CHECK(condition) ((condition) ? (void)0 : job_fail(__FILE__, __LINE__, #condition, "is false"))
#define REQUIRE(condition) ((condition) ? (void)0 : job_break(__FILE__, __LINE__, #condition, "is false"))

/* The call returns the status. */
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

/* The call fails with the status, and the first function that the error's text names is the one that was called, if not
 * for the suffix that says how it is waited for. */
#define REFUSES(status, call) (RETURNS(status, call), job_named(__FILE__, __LINE__, #call))
static inline void job_named(const char *file, int line, const char *call)
{
    static const char *const suffixes[] = { "(", "_with(", "_nb(", "_nbi(" };
    const char              *named = strstr(tern_error_detail(), "tern_");
    size_t                   len = named ? strspn(named, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && named && strncmp(named, call, len) == 0; i++)
        if (strncmp(call + len, suffixes[i], strlen(suffixes[i])) == 0)
            return;
    job_fail(file, line, call, "is not named first in the error's text");
}

/* Both numbers are the same. */
#define SAME(a, b) job_same(__FILE__, __LINE__, (unsigned long long)(a), (unsigned long long)(b), #a " == " #b)
static inline void job_same(const char *file, int line, unsigned long long a, unsigned long long b, const char *what)
{
    char why[96];

    if (a == b)
        return;
    snprintf(why, sizeof(why), "is false: %llu and %llu", a, b);
    job_fail(file, line, what, why);
}

/* The last error's text contains the word. */
#define SAYS(word) \
    (strstr(tern_error_detail(), word) ? (void)0 : job_fail(__FILE__, __LINE__, word, "is not in the text"))

static inline void *job_new(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    CHECK(memory != NULL);
    return memory;
}

/* This process in the team of a context; and which rank of the job a rank of that team is. */
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

/* Whether all ranks are reached over the network, even those on this machine. */
static inline bool job_network(void)
{
    const char *links = getenv("TERN_LINKS");

    return links && strcmp(links, "ofi") == 0;
}

/* Whether a rank of the job is reached over the network. */
static inline bool job_far(int rank)
{
    int on_node;

    return rank != tern_rank() &&
           (job_network() || tern_team_translate(tern_team_world(), rank, tern_team_node(), &on_node) < 0);
}

/* Whether the link chaos is in front: then an operation may find no room although there is some, may be under way
 * although its path is instant, and a link's refusal comes late. */
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

/* Where a random stream begins: at the usual place, or at one that JOB_SEED=n in the environment gives. */
static inline uint64_t job_seed(uint64_t usual)
{
    const char *given = getenv("JOB_SEED");

    return given ? strtoull(given, NULL, 0) * 1000003 + usual : usual;
}

/* A number that handlers of active messages change: wait until it is at least so large, or the deadline. */
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

/* A byte that tells who wrote it, when, and where. */
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

/* Reading memory that a service thread of this process writes when a peer puts to it. The order between the two goes
 * through the peer, which the thread sanitizer of one process cannot see, and each report that is suppressed takes
 * long. */
#ifdef __SANITIZE_THREAD__
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

/* memcmp, of such memory. */
static inline int job_differ(const void *a, const void *b, size_t len)
{
    int result;

    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    result = memcmp(a, b, len);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return result;
}

/* Whether such memory holds what HOLDS asks for. */
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

/* Bytes of memory behind the memory files of this job. */
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
    void          *memory; /* what a registered one is made of */
    char           path[64];
};

static inline const char *job_directory(void)
{
    const char *directory = getenv("TMPDIR");

    return directory && strlen(directory) < 24 ? directory : "/tmp";
}

/* A name for files that all ranks of this job know and no other job has; tag tells those of one job apart. */
static inline void job_file_name(char *name, size_t size, unsigned tag)
{
    uint64_t mine = (uint64_t)getpid() ^ (uint64_t)tern_clock() << 20, all[64];

    CHECK(tern_size() <= 64);
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    snprintf(name, size, "%s/tern-test-%016llx-%u", job_directory(), (unsigned long long)all[0], tag);
}

static inline void job_region_make(struct job_region *r, enum job_kind kind, uint64_t size)
{
    tern_region_opts opts = { TERN_MEMORY_HOST, NULL };

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
        opts = (tern_region_opts){ TERN_MEMORY_FILE, r->path };
    }
    OK(tern_region_alloc(TERN_WORLD, size, &opts, &r->region));
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

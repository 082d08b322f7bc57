/* quit_open_job.c: a job in which the creation of a team fails at one rank while another one is slow to open the team;
 * started by quit.sh.
 *
 *   quit_open_job SLOW QUITTER
 *
 * The tern_team_split of QUITTER has a limit, and that of SLOW takes longer to map the memory of the team. The other
 * ranks get the team, or TERN_ERR_PEER. If they get it, they use it without waiting for QUITTER. Every rank prints
 * "survived" if all promises hold.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fault/fault_job.h"

static bool is_slow;

/* As that of the C library, but slow if the memory is that of a team. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (is_slow && fd >= 0 && flags & MAP_POPULATE)
        usleep(1000000);
    return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset); // NOLINT(performance-no-int-to-ptr)
}

static void use(tern_team *team)
{
    tern_ctx *ctx;

    EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &ctx));
    EXPECT(TERN_ERR_PEER, tern_barrier(ctx));
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    EXPECT(TERN_OK, tern_team_free(team));
}

int main(int argc, char **argv)
{
    tern_team  *team = NULL;
    tern_ctx   *ctx;
    tern_status st;
    bool        quits;

    if (argc < 3)
        return 2;
    EXPECT(TERN_OK, tern_init());
    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    EXPECT(TERN_OK, tern_barrier(ctx));
    is_slow = tern_rank() == atoi(argv[1]);
    quits = tern_rank() == atoi(argv[2]);
    if (quits)
        EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, 0.3));
    st = tern_team_split(ctx, 0, 0, &team);
    REQUIRE(quits ? st == TERN_ERR_TIMEOUT : st == TERN_OK || st == TERN_ERR_PEER);
    if (st == TERN_OK)
        use(team);
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    EXPECT(TERN_OK, tern_finalize());
    if (job_broken == 0)
        printf("survived\n");
    return job_broken;
}

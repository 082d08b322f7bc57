/* main.c: run the tests of the foMPI front end: all of them, or those that are named.
 *
 * Each test runs on all processes, on some of them in reverse order, and on each one alone. With the arguments "die"
 * and HOW, the last process dies instead, and the others wait for it. With the argument "forgotten", the program ends
 * MPI without freeing two windows, and then uses one of them. With the argument "threads", two threads use windows.
 */
#include "check.h"

static const struct {
    const char *name;
    void (*run)(MPI_Comm comm);
} tests[] = { { "windows", test_windows }, { "attributes", test_attributes }, { "epochs", test_epochs },
              { "locks", test_locks },     { "random", test_random },         { "acc", test_acc },
              { "notify", test_notify },   { "requests", test_requests },     { "misuse", test_misuse },
              { "calls", test_calls },     { "listing", test_listing } };

struct window open_window(enum kind kind, size_t bytes, MPI_Comm comm)
{
    struct window w = { .kind = kind };
    MPI_Aint      at = 0;

    MPI_Comm_rank(comm, &w.me);
    MPI_Comm_size(comm, &w.n);
    w.at = malloc((size_t)w.n * sizeof *w.at);
    MUST(w.at != NULL);
    switch (kind) {
    case CREATED:
        OK(foMPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &w.base));
        OK(foMPI_Win_create(w.base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, comm, &w.win));
        break;
    case ALLOCATED: OK(foMPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, comm, &w.base, &w.win)); break;
    default:
        OK(foMPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &w.base));
        OK(foMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w.win));
        OK(foMPI_Win_attach(w.win, w.base, (MPI_Aint)(bytes / 16 * 8)));
        OK(foMPI_Win_attach(w.win, (char *)w.base + bytes / 16 * 8, (MPI_Aint)(bytes - bytes / 16 * 8)));
        MPI_Get_address(w.base, &at);
    }
    memset(w.base, 0, bytes);
    MPI_Allgather(&at, 1, MPI_AINT, w.at, 1, MPI_AINT, comm);
    return w;
}

void close_window(struct window *w)
{
    OK(foMPI_Win_free(&w->win));
    MUST(w->win == foMPI_WIN_NULL);
    if (w->kind != ALLOCATED)
        free(w->base);
    free(w->at);
}

static void run(int argc, char **argv, MPI_Comm comm)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        bool named = argc < 2;

        for (int a = 1; a < argc; a++)
            named = named || strcmp(argv[a], tests[i].name) == 0;
        if (named)
            tests[i].run(comm);
    }
}

/* Use windows after the end of MPI, which has freed them. */
static void end_with_windows(void)
{
    struct window first = open_window(ALLOCATED, 64, MPI_COMM_WORLD), second = open_window(CREATED, 64, MPI_COMM_SELF);
    int           value = 1;

    OK(foMPI_Put_notify(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, second.win, 1));
    OK(foMPI_Finalize());
    MUST(foMPI_Put_notify(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, first.win, 1) == MPI_ERR_WIN);
    MUST(foMPI_Win_free(&first.win) == MPI_ERR_WIN);
    MUST(foMPI_Finalize() == MPI_ERR_OTHER);
    exit(0);
}

int main(int argc, char **argv)
{
    int      me, n, level = MPI_THREAD_SINGLE;
    MPI_Comm part;

    if (argc == 2 && strcmp(argv[1], "threads") == 0) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        MUST(level == MPI_THREAD_MULTIPLE);
    }
    OK(foMPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MUST(glob_info.debug_pe == me);
    if (argc == 3 && strcmp(argv[1], "die") == 0)
        die(argv[2]);
    if (argc == 2 && strcmp(argv[1], "forgotten") == 0)
        end_with_windows();
    if (level == MPI_THREAD_MULTIPLE)
        use_threads();
    run(argc, argv, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, n > 2 && me == 0, -me, &part);
    run(argc, argv, part);
    MPI_Comm_free(&part);
    OK(foMPI_Init(NULL, NULL)); /* a second time has no effect */
    OK(foMPI_Finalize());
    if (me == 0)
        printf("all tests passed\n");
    return 0;
}

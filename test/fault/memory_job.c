/* memory_job.c: regions where memory, files or descriptors are short; for memory.sh.
 *
 *   memory_job [options] KIND SIZE [PATH]
 *
 * KIND: host, huge, file (at PATH), register. SIZE: bytes for each rank, with K, M or G. Each rank prints "R: STATUS:
 * detail", and if the region was created, writes and reads every page of every part. Afterwards, whatever happened, a
 * small region must work, and the job must end in order: status 0 means that no promise was broken, not that there was
 * enough memory.
 *
 *   -f BYTES   RLIMIT_FSIZE after tern_init      -F BYTES   before
 *   -a BYTES   RLIMIT_AS, this much above what is in use after tern_init      -A BYTES   before
 *   -n         no descriptor is free after tern_init
 *   -s         print the size of the pages behind the region, from /proc/self/smaps, as "pages N kB"
 *   -k         keep the region and only leave
 *   -h PAGES   no Tern at all: reserve huge pages without touching them, print "held", and sleep
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "job_test.h"

static int   me, size, keep, show_pages;
static void *memory; /* the registered memory */

static uint64_t bytes_of(const char *text)
{
    char    *end;
    uint64_t n = strtoull(text, &end, 0);

    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : *end == 'G' ? n << 30 : n;
}

static void limit(__rlimit_resource_t what, uint64_t bytes)
{
    struct rlimit l = { bytes, bytes };

    if (setrlimit(what, &l) != 0)
        perror("setrlimit"), _exit(8);
}

static uint64_t address_space(void)
{
    unsigned long pages = 0;
    FILE         *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%lu", &pages) != 1)
        _exit(8);
    fclose(file);
    return (uint64_t)pages * 4096;
}

static void take_descriptors(void)
{
    struct rlimit l = { 64, 64 };

    setrlimit(RLIMIT_NOFILE, &l);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
}

static void hold_huge(size_t pages)
{
    void *held = mmap(NULL, pages << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    puts(held == MAP_FAILED ? "refused" : "held");
    fflush(stdout);
    pause();
}

/* Print the page size of the mapping that contains addr. */
static void print_pages(const void *addr)
{
    char          line[512];
    unsigned long from, to, kib;
    int           inside = 0;
    FILE         *file = fopen("/proc/self/smaps", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = (uintptr_t)addr >= from && (uintptr_t)addr < to;
        else if (inside && sscanf(line, "KernelPageSize: %lu kB", &kib) == 1)
            printf("%d: pages %lu kB\n", me, kib);
    }
    if (file)
        fclose(file);
}

/* Write this rank's share of every page, then read those of all ranks. */
static void use(tern_region *region, uint64_t bytes)
{
    unsigned char *mine = tern_region_ptr(region, me);

    for (uint64_t at = 0; at < bytes; at += 4096)
        mine[at] = (unsigned char)(me + 1);
    mine[bytes - 1] = (unsigned char)(me + 1);
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < size; rank++) {
        const unsigned char *part = tern_region_ptr(region, rank);
        for (uint64_t at = 0; part && at < bytes; at += 4096)
            if (part[at] != (unsigned char)(rank + 1))
                _exit(7);
    }
    OK(tern_barrier(TERN_WORLD));
}

static const char *name_of(tern_status st)
{
#define NAME(name, value, text) \
    if (st == value)            \
        return #name;
    TERN_STATUS_LIST(NAME)
#undef NAME
    return "?";
}

static tern_status make(const char *kind, uint64_t bytes, const char *path, tern_region **region)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_HOST);

    if (strcmp(kind, "register") == 0) {
        if (!(memory = malloc(bytes)))
            _exit(8);
        return tern_region_register(TERN_WORLD, memory, bytes, region);
    }
    if (strcmp(kind, "huge") == 0)
        opts.memory = TERN_MEMORY_HUGE;
    if (strcmp(kind, "file") == 0)
        opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = path);
    return tern_region_create(TERN_WORLD, bytes, &opts, region);
}

static void run(const char *kind, uint64_t bytes, const char *path)
{
    tern_region *region = NULL, *small;
    tern_status  st = make(kind, bytes, path, &region);

    printf("%d: %s: %s\n", me, name_of(st), st < 0 ? tern_error_detail() : "");
    if (st == TERN_OK && strcmp(kind, "register") != 0) {
        use(region, bytes);
        if (show_pages)
            print_pages(tern_region_ptr(region, me));
    }
    if (st == TERN_OK && !keep)
        OK(tern_region_free(region));
    if (!keep)
        free(memory);
    if (st < 0 && region)
        _exit(6); /* outputs are touched only on success */
    if (tern_region_create(TERN_WORLD, 65536, NULL, &small) == TERN_OK) {
        use(small, 65536);
        printf("%d: small works\n", me);
    } else {
        printf("%d: small: %s\n", me, tern_error_detail());
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t    fsize = 0, as = 0;
    int         option, no_files = 0;
    tern_status st;

    while ((option = getopt(argc, argv, "f:F:a:A:nskh:")) != -1) {
        switch (option) {
        case 'f': fsize = bytes_of(optarg); break;
        case 'F': limit(RLIMIT_FSIZE, bytes_of(optarg)); break;
        case 'a': as = bytes_of(optarg); break;
        case 'A': limit(RLIMIT_AS, address_space() + bytes_of(optarg)); break;
        case 'n': no_files = 1; break;
        case 's': show_pages = 1; break;
        case 'k': keep = 1; break;
        case 'h': hold_huge((size_t)atol(optarg)); break;
        default: return 2;
        }
    }
    if (argc - optind < 2)
        return 2;
    if ((st = tern_init()) < 0) {
        printf("init: %s: %s\n", name_of(st), tern_error_detail());
        return 4;
    }
    me = tern_rank();
    size = tern_size();
    if (fsize)
        limit(RLIMIT_FSIZE, fsize);
    if (as)
        limit(RLIMIT_AS, address_space() + as);
    if (no_files)
        take_descriptors();
    run(argv[optind], bytes_of(argv[optind + 1]), argv[optind + 2]);
    OK(tern_finalize());
    return 0;
}

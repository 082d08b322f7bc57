/* main.c: tern-info: prints the version of this copy of Tern, its capabilities on this machine, and every option
 * with its value. tern-info joins no job, changes nothing, and prints the available facts even if others cannot be
 * determined.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>
#include <unistd.h>

#include "info.h"

static const struct option long_options[] = {
    { "json", no_argument, NULL, 'j' },
    { "markdown", no_argument, NULL, 'm' },
    { "version", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] = "usage: tern-info [--json | --markdown | --version | --help]\n"
                            "\n"
                            "  --json      everything as one JSON object\n"
                            "  --markdown  the table of options with their defaults, as in docs/options.md\n";

static void version(void)
{
    info_section("tern", "Tern");
    info_text("version", "version", "%s", tern_version());
    info_text("headers", "built with headers of", "%s", TERN_VERSION);
    info_section_end();
}

static void print_all(bool json)
{
    struct info_cma cma = info_cma_probe();

    info_begin(json);
    version();
    info_machine();
    info_memory();
    info_huge();
    info_kernel();
    info_links(&cma);
    info_cma(&cma);
    info_progress(&cma);
    info_networks();
    info_options();
    info_end();
}

int main(int argc, char **argv)
{
    bool json = false;
    int  option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        switch (option) {
        case 'j': json = true; break;
        case 'm': info_options_markdown(); return 0;
        case 'v': printf("tern-info %s\n", tern_version()); return 0;
        case 'h': fputs(usage, stdout); return 0;
        default: fprintf(stderr, "tern-info: unknown option %s\n%s", argv[optind - 1], usage); return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tern-info: takes no arguments, and this is one: %s\n%s", argv[optind], usage);
        return 2;
    }
    info_options_load(environ);
    print_all(json);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tern-info: the output could not be written\n");
        return 1;
    }
    return 0;
}

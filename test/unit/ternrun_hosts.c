/* ternrun_hosts.c: promise: --hosts and a file of hosts accept every valid text with its documented meaning, and refuse
 * an invalid text with a reason. The files under test are included, because they belong to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../tools/hostlist/hostfile.c"
#include "../tools/hostlist/hostlist.c"
#include "../tools/ternrun/hosts.c"

/* Read the text; returns "name first ranks," for each host, or the reason after an exclamation mark. */
static const char *read_as(const char *text, int ranks)
{
    static char       out[1024];
    struct run_config config = { 0 };
    size_t            len = 0;

    out[0] = '!';
    if (run_hosts_read(text, ranks, &config, out + 1, sizeof(out) - 1))
        for (int i = 0; i < config.hosts; i++)
            len += (size_t)snprintf(out + len, sizeof(out) - len, "%s %d %d,", config.host[i].name,
                                    config.host[i].first, config.host[i].ranks);
    run_hosts_free(&config);
    return out;
}

static void good_text(void **state)
{
    (void)state;
    assert_string_equal(read_as("a:4,b:4", 0), "a 0 4,b 4 4,");
    assert_string_equal(read_as("a", 0), "a 0 1,");
    assert_string_equal(read_as("a,b:3,c", 0), "a 0 1,b 1 3,c 4 1,");
    assert_string_equal(read_as("user@node-1.example.org:2", 0), "user@node-1.example.org 0 2,");
    assert_string_equal(read_as("10.0.0.1:2,[fe80::1%eth0]:3,[::1]", 0), "10.0.0.1 0 2,[fe80::1%eth0] 2 3,[::1] 5 1,");
    assert_string_equal(read_as("user@[::1]:2,b", 0), "user@[::1] 0 2,b 2 1,");
    assert_string_equal(read_as("a:4096", 0), "a 0 4096,");
}

static void with_a_number_of_ranks(void **state)
{
    (void)state;
    assert_string_equal(read_as("a,b,c", 8), "a 0 3,b 3 3,c 6 2,");
    assert_string_equal(read_as("a,b", 2), "a 0 1,b 1 1,");
    assert_string_equal(read_as("a:4,b:4", 8), "a 0 4,b 4 4,");
    assert_string_equal(read_as("a:4,b:4", 5), "a 0 4,b 4 1,");
    assert_string_equal(read_as("a:4,b:4,c:4", 4), "a 0 4,");
}

static void bad_text(void **state)
{
    static const struct {
        const char *text, *why;
        int         ranks;
    } bad[] = {
        { "", "no name", 0 },           { ",", "no name", 0 },
        { "a,", "no name", 0 },         { "a,,b", "no name", 0 },
        { ":4", "no name", 0 },         { "a:", "host a takes", 0 },
        { "a:x", "host a takes", 0 },   { "a:0", "host a takes", 0 },
        { "a:-1", "host a takes", 0 },  { "a:4097", "1 to 4096", 0 },
        { "a:4:4", "host a takes", 0 }, { "a:99999999999999999999", "host a takes", 0 },
        { "[::1:2", "as [::1]", 0 },    { "[::1:2,b", "as [::1]", 0 },
        { "[]:2", "as [::1]", 0 },      { "::1]:2", "no name", 0 },
        { "a]:2", "as [::1]", 0 },      { "[::1]x:2", "as [::1]", 0 },
        { "[[::1]:2", "as [::1]", 0 },  { "a b", "no name of", 0 },
        { "-v", "'-v' is no name", 0 }, { "a\n", "no name of", 0 },
        { "a;b", "no name of", 0 },     { "$(x)", "no name of", 0 },
        { "a/b", "no name of", 0 },     { "a,b,a", "a is listed twice", 0 },
        { "a:1,a:2", "twice", 0 },      { "a:2,b:2", "hosts take 4", 5 },
        { "a,b,c", "fewer", 2 },        { "a:2,b", "to every host", 3 },
        { "a", "1 to 4096", 5000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *got = read_as(bad[i].text, bad[i].ranks);

        if (*got != '!' || strstr(got, bad[i].why) == NULL)
            fail_msg("'%s' gives '%s'", bad[i].text, got);
    }
}

static void many_hosts(void **state)
{
    static char text[MAX_HOSTS * 8 + 16];
    size_t      len = 0;

    (void)state;
    for (int i = 0; i <= MAX_HOSTS; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%sh%d", i > 0 ? "," : "", i);
    assert_non_null(strstr(read_as(text, 0), "more than 4096 hosts"));
    snprintf(text, sizeof(text),
             "a:4096,b:4096,c:4096,d:4096,e:4096,f:4096,g:4096,h:4096,i:4096,j:4096,k:4096,l:4096,"
             "m:4096,n:4096,o:4096,p:4096,q:1");
    assert_non_null(strstr(read_as(text, 0), "up to 65536 ranks, not 65537"));
}

/* ---- files ---- */

static char file_name[] = "/tmp/tern-hosts.XXXXXX";

/* Read a file with this text as --hosts @FILE. */
static const char *read_file_as(const char *text, int ranks)
{
    char  list[64];
    FILE *file = fopen(file_name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    snprintf(list, sizeof(list), "@%s", file_name);
    return read_as(list, ranks);
}

static void good_files(void **state)
{
    (void)state;
    assert_string_equal(read_file_as("a\nb\n", 0), "a 0 1,b 1 1,");
    assert_string_equal(read_file_as("a slots=4\nb slots=2\n", 0), "a 0 4,b 4 2,"); /* Open MPI */
    assert_string_equal(read_file_as("a:4\nb:2", 0), "a 0 4,b 4 2,");               /* MPICH, without a last newline */
    assert_string_equal(read_file_as("# all of them\n\n  a\tslots=2 max-slots=8 # big\r\n#b\n c:3\n", 0),
                        "a 0 2,c 2 3,");
    assert_string_equal(read_file_as("a\na\nb\nb\na\n", 0), "a 0 3,b 3 2,"); /* one line for each rank */
    assert_string_equal(read_file_as("a slots=2\nb\na slots=3\n", 0), "a 0 5,b 5 1,");
    assert_string_equal(read_file_as("user@node-1.example.org slots=2\n[::1]:3\n", 0),
                        "user@node-1.example.org 0 2,[::1] 2 3,");
}

static void files_with_a_number_of_ranks(void **state)
{
    (void)state;
    assert_string_equal(read_file_as("a\nb\n", 5), "a 0 3,b 3 2,");
    assert_string_equal(read_file_as("a slots=4\nb slots=4\n", 5), "a 0 4,b 4 1,");
    assert_string_equal(read_file_as("a slots=4\nb slots=4\n", 3), "a 0 3,");
    assert_string_equal(read_file_as("a\na\nb\n", 2), "a 0 2,");
    assert_non_null(strstr(read_file_as("a\na\nb\n", 4), "-n asks for 4 ranks, and the hosts take 3"));
}

static void files_and_names(void **state)
{
    char list[64];

    (void)state;
    read_file_as("b:2\nc\n", 0);
    snprintf(list, sizeof(list), "a,@%s,d:3", file_name);
    assert_string_equal(read_as(list, 0), "a 0 1,b 1 2,c 3 1,d 4 3,");
    snprintf(list, sizeof(list), "b,@%s", file_name);
    assert_non_null(strstr(read_as(list, 0), "line 1 of /tmp/tern-hosts."));
    assert_non_null(strstr(read_as(list, 0), "b is listed twice"));
}

static void bad_files(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "names no host" },
        { "# nothing\n\n", "names no host" },
        { "a\nb slots=0\n", "line 2 of /tmp/tern-hosts." },
        { "a slots=\n", "host a takes 1 to 4096 ranks, not ''" },
        { "a slots=x\n", "not 'x'" },
        { "a slots=4097\n", "not '4097'" },
        { "a:0\n", "not '0'" },
        { "a :3\n", "':3' is not understood" },
        { "a 4\n", "'4' is not understood; a line is HOST, HOST:4 or HOST slots=4" },
        { "a,b\n", "'a,b'" },
        { "-oProxyCommand=x\n", "is no name of a host" },
        { "a;b\n", "'a;b' is no name of a host" },
        { "a slots=4000\na slots=97\n", "its lines add up to more" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (strstr(read_file_as(bad[i].text, 0), bad[i].why) == NULL)
            fail_msg("'%s' gives '%s'", bad[i].text, read_file_as(bad[i].text, 0));
    assert_non_null(strstr(read_as("@/no/such/file", 0), "cannot read /no/such/file: No such file"));
    assert_non_null(strstr(read_as("@/tmp", 0), "cannot read /tmp: Is a directory"));
    assert_non_null(strstr(read_as("@", 0), "cannot read a file without a name"));
}

static int make_file(void **state)
{
    int fd = mkstemp(file_name);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_text),       cmocka_unit_test(with_a_number_of_ranks),
        cmocka_unit_test(bad_text),        cmocka_unit_test(many_hosts),
        cmocka_unit_test(good_files),      cmocka_unit_test(files_with_a_number_of_ranks),
        cmocka_unit_test(files_and_names), cmocka_unit_test(bad_files),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}

/* output_files.c: the files of --output: the standard output and the standard error of each rank, byte for byte.
 *
 * The files are on the machine on which the user started ternrun, wherever the ranks run. They are created before any
 * rank is started, so that a directory that cannot be used is reported at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ternrun.h"

/* Create the directory and those above it. Returns 0 or errno. */
static int create_directory(const char *path)
{
    char *copy = strdup(path), *slash = copy;
    int   error = copy != NULL ? 0 : ENOMEM;

    while (error == 0 && (slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            error = errno;
        *slash = '/';
    }
    if (error == 0 && mkdir(path, 0777) != 0 && errno != EEXIST)
        error = errno;
    free(copy);
    return error;
}

/* Name the file of a rank, relative to the directory. which: 1 or 2. */
static void name_file(int rank, int which, char *name, size_t size)
{
    snprintf(name, size, "rank.%d.%s", rank, which == STDOUT_FILENO ? "out" : "err");
}

static bool create_file(struct run_record *record, int dir, int i)
{
    char name[64];

    name_file(i / 2, i % 2 + 1, name, sizeof(name));
    record->file[i] = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    if (record->file[i] >= 0)
        return true;
    run_say("--output: cannot create %.300s/%s: %s", record->dir, name, strerror(errno));
    return false;
}

bool run_record_start(struct run_record *record, const char *dir, int ranks)
{
    int  error = create_directory(dir), handle = error == 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool good = true;

    if (handle < 0) {
        run_say("--output: cannot use the directory %.300s: %s", dir, strerror(error != 0 ? error : errno));
        return false;
    }
    *record = (struct run_record){ .dir = dir, .file = malloc(2 * (size_t)ranks * sizeof(record->file[0])) };
    for (; good && record->file != NULL && record->files < 2 * ranks; record->files += good)
        good = create_file(record, handle, record->files);
    close(handle);
    if (record->file == NULL)
        run_say("--output: no memory for the files of %d ranks", ranks);
    return good && record->file != NULL;
}

void run_record_write(struct run_record *record, int rank, int which, const char *data, size_t len)
{
    int *file = &record->file[2 * rank + which - 1];
    char name[64];

    while (*file >= 0 && len > 0) {
        ssize_t sent = write(*file, data, len);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            name_file(rank, which, name, sizeof(name));
            run_say("--output: cannot write %.300s/%s: %s; the rest of it is lost", record->dir, name, strerror(errno));
            record->is_lossy = true;
            close(*file);
            *file = -1;
            return;
        }
        data += sent;
        len -= (size_t)sent;
    }
}

void run_record_end(struct run_record *record)
{
    int error = 0;

    for (int i = 0; i < record->files; i++)
        if (record->file[i] >= 0 && close(record->file[i]) != 0) /* some file systems report errors only here */
            error = errno;
    if (error != 0)
        run_say("--output: cannot write all files in %.300s: %s", record->dir, strerror(error));
    free(record->file);
    *record = (struct run_record){ .is_lossy = record->is_lossy || error != 0 };
}

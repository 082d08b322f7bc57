/* info.h: what the files of tern-info share: the writer, which makes text or JSON of the same facts, and the sections.
 */
#ifndef TERN_INFO_H
#define TERN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One fact in a list, for JSON. */
struct info_field {
    const char *key, *text; /* text NULL: null */
};

/* writer.c. A section is an object of facts or a list of items; labels are for people, keys for programs. */
void info_begin(bool json);
void info_end(void);
void info_section(const char *key, const char *title);
void info_section_end(void);
void info_text(const char *key, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
void info_number(const char *key, const char *label, uint64_t value, const char *unit);
void info_bytes(const char *key, const char *label, uint64_t value);
void info_bool(const char *key, const char *label, bool value);
void info_list(const char *key, const char *title);
void info_item(const char *for_people, const struct info_field *fields, size_t count);
void info_list_end(void);

/* What cma.c found. */
struct info_cma {
    bool works; /* the kernel permits it between processes of this user, as ranks are */
    bool used;  /* and no option forbids it */
    char why[320];
};
struct info_cma info_cma_probe(void);

/* The sections. */
void info_links(const struct info_cma *cma);
void info_cma(const struct info_cma *cma);
void info_progress(const struct info_cma *cma);
void info_networks(void);
void info_huge(void);
void info_memory(void);
void info_kernel(void);
void info_machine(void);
void info_options(void);
void info_options_load(char *const *environment);
void info_options_markdown(void);

/* The first line of a small file, without its end; false when it cannot be read. */
bool info_read_line(const char *path, char *line, size_t size);

#endif

/* info.h: the declarations that the files of tern-info share: the writer, which prints the same facts as text or as
 * JSON, and the sections. */
#ifndef TERN_INFO_H
#define TERN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One fact of a list item, for JSON. */
struct info_field {
    const char *key, *text; /* text NULL: JSON null */
};

/* writer.c. A section is an object of facts or a list of items. Labels are for people, keys are for programs. */
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

/* The result of the check in cma.c. */
struct info_cma {
    bool works; /* the kernel permits CMA between processes of this user, such as ranks */
    bool used;  /* CMA works, and no option forbids it */
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

/* Read the first line of a small file, without its newline. Returns false if the file cannot be read. */
bool info_read_line(const char *path, char *line, size_t size);

#endif

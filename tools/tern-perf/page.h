/* page.h: a page that is written as Markdown and as HTML at the same time. */
#ifndef TERN_PERF_PAGE_H
#define TERN_PERF_PAGE_H

#include <stdbool.h>
#include <stdio.h>

struct page {
    FILE       *md, *html;
    const char *dir; /* the directory of the page and of its pictures */
    bool        lacks_picture;
    bool        in_body; /* the head of the current table is complete */
    size_t      columns; /* cells of the current row */
};

/* Create DIR/page.md and DIR/page.html. Returns false, and prints the reason, if that fails. */
bool page_open(struct page *page, const char *dir, const char *title);
/* Complete the page. Returns false, and prints the reason, if it could not be written. */
bool page_close(struct page *page);

void page_heading(struct page *page, int level, const char *text);
/* A paragraph. Words between backquotes are code. */
void page_text(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A table: its first row is the head. page_cell writes the cells of a row between page_row and page_row_end. */
void page_table(struct page *page);
void page_row(struct page *page);
void page_cell(struct page *page, const char *text);
void page_row_end(struct page *page);
void page_table_end(struct page *page);
/* A picture: the SVG file name in the directory of the page. The HTML contains the picture itself, so that it is one
 * file to send. */
void page_picture(struct page *page, const char *name, const char *about);

#endif

/* page.c: writes a page as Markdown and as HTML (page.h). */
#include "page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font-family:sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.25em .6em;text-align:left}"
    "th{background:#f0f3f8}code{background:#f3f3f3;padding:0 .2em}svg{max-width:100%;height:auto}";

static FILE *create(const char *dir, const char *name)
{
    char  path[600];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    if (f == NULL)
        fprintf(stderr, "tern-perf: %s cannot be written: %s\n", path, strerror(errno));
    return f;
}

/* Print a text as HTML. Words between backquotes are code. */
static void html_text(FILE *to, const char *text)
{
    bool code = false;

    for (; *text != '\0'; text++) {
        switch (*text) {
        case '`':
            fputs(code ? "</code>" : "<code>", to);
            code = !code;
            break;
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        default: fputc(*text, to);
        }
    }
}

bool page_open(struct page *page, const char *dir, const char *title)
{
    *page = (struct page){ .dir = dir };
    page->md = create(dir, "page.md");
    page->html = page->md != NULL ? create(dir, "page.html") : NULL;
    if (page->html == NULL) {
        if (page->md != NULL)
            fclose(page->md);
        return false;
    }
    fprintf(page->html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>");
    html_text(page->html, title);
    fprintf(page->html, "</title><style>%s</style></head>\n<body>\n", style);
    page_heading(page, 1, title);
    return true;
}

bool page_close(struct page *page)
{
    bool ok;

    fputs("</body>\n</html>\n", page->html);
    ok = ferror(page->md) == 0 && ferror(page->html) == 0;
    ok = fclose(page->md) == 0 && ok;
    ok = fclose(page->html) == 0 && ok;
    if (!ok)
        fprintf(stderr, "tern-perf: the page in %s is not complete: is the disk full?\n", page->dir);
    else if (page->lacks_picture)
        fprintf(stderr, "tern-perf: the page in %s lacks a plot, which could not be drawn\n", page->dir);
    return ok && !page->lacks_picture;
}

void page_heading(struct page *page, int level, const char *text)
{
    fprintf(page->md, "%.*s %s\n\n", level, "####", text);
    fprintf(page->html, "<h%d>", level);
    html_text(page->html, text);
    fprintf(page->html, "</h%d>\n", level);
}

/* Print a paragraph of Markdown in lines of at most 110 letters. */
static void md_text(FILE *to, const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (column > 0 && column + 1 + word > 110) {
            fputc('\n', to);
            column = 0;
        } else if (column > 0) {
            fputc(' ', to);
            column++;
        }
        fwrite(text, 1, word, to);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputs("\n\n", to);
}

void page_text(struct page *page, const char *format, ...)
{
    char    text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    md_text(page->md, text);
    fputs("<p>", page->html);
    html_text(page->html, text);
    fputs("</p>\n", page->html);
}

void page_table(struct page *page)
{
    page->in_body = false;
    fputs("<table>\n", page->html);
}

void page_row(struct page *page)
{
    page->columns = 0;
    fputs("|", page->md);
    fputs("<tr>", page->html);
}

void page_cell(struct page *page, const char *text)
{
    const char *tag = page->in_body ? "td" : "th";

    page->columns++;
    fprintf(page->md, "%s%s |", text[0] != '\0' ? " " : "", text);
    fprintf(page->html, "<%s>", tag);
    html_text(page->html, text);
    fprintf(page->html, "</%s>", tag);
}

void page_row_end(struct page *page)
{
    fputc('\n', page->md);
    fputs("</tr>\n", page->html);
    if (page->in_body)
        return;
    fputc('|', page->md);
    for (size_t i = 0; i < page->columns; i++)
        fputs(" --- |", page->md);
    fputc('\n', page->md);
    page->in_body = true;
}

void page_table_end(struct page *page)
{
    fputc('\n', page->md);
    fputs("</table>\n", page->html);
}

void page_picture(struct page *page, const char *name, const char *about)
{
    char  path[600], piece[4096];
    FILE *from;
    bool  begun = false;

    fprintf(page->md, "![%s](%s)\n\n", about, name);
    snprintf(path, sizeof(path), "%s/%s", page->dir, name);
    from = fopen(path, "re");
    if (from == NULL) {
        fprintf(stderr, "tern-perf: %s: %s\n", path, strerror(errno));
        page->lacks_picture = true;
        return;
    }
    fputs("<p>", page->html);
    while (fgets(piece, sizeof(piece), from) != NULL) {
        begun |= strstr(piece, "<svg") != NULL; /* the lines before are the head of an XML file */
        if (begun)
            fputs(piece, page->html);
    }
    fputs("</p>\n", page->html);
    fclose(from);
}

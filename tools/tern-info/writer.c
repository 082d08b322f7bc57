/* writer.c: prints facts either for people, as titles and aligned lines, or as one JSON object. Strings in JSON are
 * escaped, and bytes that are not UTF-8 are replaced, so that the output is always valid. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

#define LABEL_WIDTH 24
#define WIDTH 120     /* columns */
#define ITEM_INDENT 9 /* of the lines after the first line of an item */

static struct {
    bool json;
    bool more_sections, more_facts; /* a comma must be printed next */
} writer;

/* Return the number of bytes of the UTF-8 character at s, or 0 if the bytes are not valid UTF-8. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;

    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0; /* an overlong form, a surrogate, or beyond the last character */
    return n;
}

static void json_string(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    putchar('"');
    while (*s != '\0') {
        size_t n = utf8_length(s);

        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            printf("\\u%04x", *s);
        else if (n == 0)
            fputs("\\ufffd", stdout);
        else
            fwrite(s, 1, n, stdout);
        s += n == 0 ? 1 : n;
    }
    putchar('"');
}

static void json_key(const char *key)
{
    printf("%s\n    ", writer.more_facts ? "," : "");
    json_string(key);
    fputs(": ", stdout);
    writer.more_facts = true;
}

void info_begin(bool json)
{
    writer.json = json;
    if (json)
        putchar('{');
}

void info_end(void)
{
    if (writer.json)
        puts("\n}");
}

bool info_is_json(void)
{
    return writer.json;
}

static void open_section(const char *key, const char *title, char bracket)
{
    if (writer.json) {
        printf("%s\n  ", writer.more_sections ? "," : "");
        json_string(key);
        printf(": %c", bracket);
    } else {
        printf("%s%s\n", writer.more_sections ? "\n" : "", title);
    }
    writer.more_sections = true;
    writer.more_facts = false;
}

void info_section(const char *key, const char *title)
{
    open_section(key, title, '{');
}

void info_section_end(void)
{
    if (writer.json)
        fputs("\n  }", stdout);
}

void info_list(const char *key, const char *title)
{
    open_section(key, title, '[');
}

void info_list_end(void)
{
    if (writer.json)
        fputs("\n  ]", stdout);
}

/* Print text for people, from this column on. A line that would be too long continues in the next line, which is
 * indented. Blanks at the end of a line are dropped. */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " \n");

        if (word > 0 && column > indent && column + blanks + word > WIDTH) {
            printf("\n%*s%.*s", (int)indent, "", (int)word, text + blanks);
            column = indent + word;
        } else if (word > 0) {
            printf("%.*s", (int)(blanks + word), text);
            column += blanks + word;
        }
        text += blanks + word;
        if (*text == '\n') {
            putchar('\n');
            column = 0;
            text++;
        }
    }
    putchar('\n');
}

static void label_print(const char *label)
{
    printf("  %-*s ", LABEL_WIDTH, label);
}

void info_text(const char *key, const char *label, const char *format, ...)
{
    char    text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (writer.json) {
        json_key(key);
        json_string(text);
    } else {
        label_print(label);
        print_wrapped(text, LABEL_WIDTH + 3, LABEL_WIDTH + 3);
    }
}

void info_number(const char *key, const char *label, uint64_t value, const char *unit)
{
    if (writer.json) {
        json_key(key);
        printf("%" PRIu64, value);
    } else {
        label_print(label);
        printf("%" PRIu64 "%s%s\n", value, unit[0] != '\0' ? " " : "", unit);
    }
}

void info_bytes(const char *key, const char *label, uint64_t value)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double                   shown = (double)value;
    size_t                   unit = 0;

    if (writer.json) {
        info_number(key, label, value, "");
        return;
    }
    for (; shown >= 1024 && unit < 4; unit++)
        shown /= 1024;
    label_print(label);
    printf("%.*f %s\n", unit == 0 || shown == (double)(uint64_t)shown ? 0 : 1, shown, units[unit]);
}

void info_bool(const char *key, const char *label, bool value)
{
    if (writer.json) {
        json_key(key);
        fputs(value ? "true" : "false", stdout);
    } else {
        label_print(label);
        puts(value ? "yes" : "no");
    }
}

void info_no_limit(const char *key, const char *label)
{
    if (writer.json) {
        json_key(key);
        fputs("null", stdout);
    } else {
        label_print(label);
        puts("no limit");
    }
}

void info_more(const char *text)
{
    if (!writer.json)
        printf("  %s\n", text);
}

void info_item(const char *for_people, const struct info_field *fields, size_t count)
{
    if (!writer.json) {
        fputs("  ", stdout);
        print_wrapped(for_people, 2, ITEM_INDENT);
        return;
    }
    printf("%s\n    {", writer.more_facts ? "," : "");
    writer.more_facts = true;
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        json_string(fields[i].key);
        fputs(": ", stdout);
        if (fields[i].text == NULL)
            fputs("null", stdout);
        else
            json_string(fields[i].text);
    }
    putchar('}');
}

# man-pages.awk: generate or check the manual pages of the interface; scripts/man-from-headers runs this program.
#
# It reads examples and snippets first, then the public headers. Headers named inline*.h, names that begin with
# tern_inline_ or TERN_INLINE, and declarations whose comment says "not part of the interface" are left out.
#
# Every other function, variable, macro and type has a comment right above it. Macros without a blank line between them
# share a comment and a page; a macro by itself may have its comment at the end of its line. The first sentence of a
# comment becomes the NAME line of the page, and is therefore shorter than 70 characters. The comment of a function, and
# of a macro whose name is in lower case, is a contract: the description is followed by parts that begin with the words
# Returns, Remote and Threads. It must not refer to the contract of another call. Initializers such as TERN_OPTS and
# TERN_OPTS_INIT are described on the page of their struct tern_opts, and TERN_TYPE_LIST on that of tern_type. The
# comment at the beginning of a header becomes a page of section 7.
#
# A page shows a snippet from man/snippets*.c, and names the programs in examples/ that use the call. A snippet is a
# function whose comment begins with names and a colon, such as "tern_put, tern_get: Exchange a block.". Without such a
# comment, the first snippet that uses the name is shown.

BEGIN {
    MOST_NAME = 70
    MOST_PARAMETERS = 7
    MOST_FUNCTIONS = 300
    type_of["ctx"] = "tern_ctx *ctx"; type_of["domain"] = "tern_atomic_domain *domain"
    type_of["region"] = "tern_region *region"; type_of["rank"] = "int rank"; type_of["offset"] = "uint64_t offset"
    type_of["value"] = "TYPE value"; type_of["desired"] = "TYPE desired"; type_of["result"] = "TYPE *result"
    type_of["expected"] = "TYPE *expected"; type_of["pointer"] = "TYPE *pointer"; type_of["src"] = "const void *src"
    type_of["dst"] = "void *dst"; type_of["len"] = "size_t len"; type_of["tag"] = "uint32_t tag"
    type_of["event"] = "tern_event *event"
}

function fail(line, text)
{
    printf "%s:%d: %s\n", FILENAME, line, text > "/dev/stderr"
    failed = 1
}

function complain(i, text)
{
    printf "%s:%d: %s\n", file_of[i], line_of[i], text > "/dev/stderr"
    failed = 1
}

function basename(path)
{
    sub(/^.*\//, "", path)
    return path
}

# ---- reading ----

# Record all words of a line that may be names of the interface, as used by a source of examples.
function note_words(source, line)
{
    while (match(line, /(tern|TERN)_[A-Za-z0-9_]+/)) {
        uses[source, substr(line, RSTART, RLENGTH)] = 1
        line = substr(line, RSTART + RLENGTH)
    }
}

function strip_comment_line(line)
{
    sub(/ *\*\/.*$/, "", line)
    if (line !~ /^\/\*/)
        sub(/^ \*? ?/, "", line)
    sub(/^\/\* ?/, "", line)
    return line
}

# Split a comment into its four parts: part["what"], part["Returns"] and so on. Indentation is kept in "what"; in
# "Returns", a line that is indented further continues the entry of the line before.
function cut(text, part,    i, n, lines, line, now)
{
    part["what"] = part["Returns"] = part["Remote"] = part["Threads"] = ""
    now = "what"
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (line ~ /^(Returns|Remote|Threads)( |$)/) {
            now = substr(line, 1, index(line " ", " ") - 1)
            sub(/^[A-Z][a-z]+ */, "", line)
        } else if (now == "Returns") {
            if (line ~ /^ *$/)
                continue
            if (line ~ /^           /) {
                sub(/^ +/, " ", line)
                part[now] = part[now] line
                continue
            }
            sub(/^ +/, "", line)
        } else if (now != "what")
            sub(/^ +/, "", line)
        part[now] = part[now] (part[now] == "" ? "" : "\n") line
    }
    sub(/\n+$/, "", part["what"])
}

# The first sentence of a text, without its full stop.
function brief(s,    i, n)
{
    gsub(/\n+ */, " ", s)
    n = length(s)
    for (i = 1; i <= n; i++)
        if (substr(s, i, 1) == "." && (i == n || substr(s, i + 1, 1) == " ") && substr(s, i - 1, 1) != ".")
            break
    return substr(s, 1, i - 1)
}

function is_hidden(name, text)
{
    return name ~ /^(tern_inline_|TERN_INLINE)/ || text ~ /[Nn]ot part of the\n? *interface/
}

# Store a new item. Its comment is in comment.
function add(name, what, line,    part)
{
    if (name in number)
        fail(line, name " is declared twice")
    count++
    number[name] = count
    name_of[count] = name
    kind_of[count] = what
    file_of[count] = FILENAME
    line_of[count] = line
    header_of[count] = header
    cut(comment, part)
    text_of[count, "what"] = part["what"]
    text_of[count, "Returns"] = part["Returns"]
    text_of[count, "Remote"] = part["Remote"]
    text_of[count, "Threads"] = part["Threads"]
    members[count] = name
    return count
}

function parameters(decl,    n, list)
{
    sub(/^[^(]*\(/, "", decl)
    sub(/\)[^)]*$/, "", decl)
    gsub(/\([^()]*\)/, "", decl) # parameters of a function pointer
    if (decl == "" || decl == "void")
        return 0
    n = split(decl, list, ",")
    return n
}

function finish_declaration(    name, i)
{
    sub(/^TERN_(API|INLINE) +(extern )?/, "", decl)
    gsub(/[ \t]+/, " ", decl)
    gsub(/ ?__attribute__ ?\(\([^;]*\)\)/, "", decl)
    sub(/ ?[;{].*$/, "", decl)
    name = decl
    sub(/ ?\(.*$/, "", name)
    sub(/\[.*$/, "", name)
    sub(/^.*[ *]/, "", name)
    if (mode == "list")
        print name
    else if (!is_hidden(name, comment)) {
        i = add(name, index(decl, "(") ? "function" : "variable", decl_line)
        decl_of[i] = decl ";"
    }
    decl = comment = ""
}

# The struct of an initializer: TERN_OPTS and TERN_OPTS_INIT belong to tern_opts.
function type_of_macro(name,    lower)
{
    lower = tolower(name)
    sub(/_init$/, "", lower)
    sub(/_list$/, "", lower)
    return lower
}

function finish_define(    name, text, arguments, i, n, list, at)
{
    text = define
    sub(/^#define +/, "", text)
    name = text
    sub(/[^A-Za-z0-9_].*$/, "", name)
    arguments = ""
    if (substr(text, length(name) + 1, 1) == "(") {
        arguments = substr(text, length(name) + 1)
        arguments = substr(arguments, 1, index(arguments, ")"))
    }
    if (name !~ /^(TERN|tern)_/ || name ~ /_H$|_AS_ENUM$/ || is_hidden(name, comment))
        return
    if (name ~ /_LIST$/) {
        read_list(type_of_macro(name), text)
        later[name] = type_of_macro(name)
        comment = ""
        return
    }
    if (type_of_macro(name) in is_type) {
        if (!(name in alias))
            initializers[type_of_macro(name)] = initializers[type_of_macro(name)] " " name
        alias[name] = type_of_macro(name)
        comment = ""
        return
    }
    if (name in number || name in alias)
        return
    if (comment == "" && !group && match(define, /\/\*.*\*\//))
        comment = capital(substr(define, RSTART + 3, RLENGTH - 6)) "."
    if (comment != "") {
        i = group = add(name, name ~ /^tern/ ? "call" : "macro", define_line)
        comment = ""
    } else if (group) {
        i = group
        alias[name] = name_of[group]
        members[i] = members[i] " " name
    } else {
        fail(define_line, name " has no comment right above it")
        return
    }
    if (kind_of[i] == "call")
        decl_of[i] = decl_of[i] (decl_of[i] == "" ? "" : "\n") prototype(name, arguments)
    else {
        text = define
        sub(/^#define +[A-Za-z0-9_]+(\([^)]*\))? */, "", text)
        at = ""
        if (match(text, /\/\*.*\*\//)) {
            at = substr(text, RSTART + 3, RLENGTH - 6)
            text = substr(text, 1, RSTART - 1)
        }
        sub(/ +$/, "", text)
        constants[i] = constants[i] name "\t" arguments "\t" text "\t" at "\n"
    }
}

# The prototype of a generic macro, with the types of its parameters.
function prototype(name, arguments,    n, i, list, s)
{
    gsub(/[() ]/, "", arguments)
    n = split(arguments, list, ",")
    s = "tern_status " name "("
    for (i = 1; i <= n; i++)
        s = s (i == 1 ? "" : ", ") ((list[i] in type_of) ? type_of[list[i]] : list[i])
    return s ");"
}

# Remember the entries X(NAME, ..., "text") of a list, for the enum that is made from it.
function read_list(type, text,    entry, name, says)
{
    while (match(text, /X\(TERN_[A-Z0-9_]+,[^"]*"[^"]*"\)/)) {
        entry = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        name = entry
        sub(/,.*/, "", name)
        says = entry
        sub(/^[^"]*"/, "", says)
        sub(/"$/, "", says)
        listed[type] = listed[type] name "\t" says "\n"
    }
}

function finish_type(    name, i)
{
    name = body
    if (name ~ /\(\*tern_/) {
        sub(/^.*\(\*/, "", name)
        sub(/\).*/, "", name)
    } else {
        sub(/;[^;]*$/, "", name)
        sub(/^.*[ }*]/, "", name)
    }
    if (comment == "" || name !~ /^tern_/) {
        fail(type_line, name " has no comment right above it")
        return
    }
    if (!is_hidden(name, comment)) {
        i = add(name, "type", type_line)
        body_of[i] = body
        is_type[name] = i
    }
    comment = ""
}

kind == "example" {
    source = FILENAME
    if (basename(source) ~ /^snippets.*[.]c$/) {
        read_snippets()
    } else {
        if (FNR == 1)
            programs[++program_count] = source
        note_words(source, $0)
    }
    next
}

function read_snippets(    names, line)
{
    if ($0 ~ /^\/\* /) {
        caption = ""
        in_caption = 1
    }
    if (in_caption) {
        caption = caption (caption == "" ? "" : " ") strip_comment_line($0)
        if ($0 ~ /\*\//)
            in_caption = 0
    } else if ($0 ~ /^{/) {
        snippet_count++
        in_snippet = 1
        snippets[snippet_count] = signature "{\n"
        signature = ""
        if (match(caption, /^((tern|TERN)_[A-Za-z0-9_]+(, )?)+: /)) {
            names = substr(caption, 1, RLENGTH)
            while (match(names, /(tern|TERN)_[A-Za-z0-9_]+/)) {
                shown[substr(names, RSTART, RLENGTH)] = snippet_count
                names = substr(names, RSTART + RLENGTH)
            }
            sub(/^[^:]*: /, "", caption)
        }
        captions[snippet_count] = caption
    } else if ($0 ~ /^}/) {
        snippets[snippet_count] = snippets[snippet_count] "}\n"
        in_snippet = 0
        caption = ""
    } else if (in_snippet) {
        note_words("snippet " snippet_count, $0)
        snippets[snippet_count] = snippets[snippet_count] $0 "\n"
    } else if ($0 ~ /^static / || (signature != "" && $0 ~ /^ /)) {
        note_words("snippet " (snippet_count + 1), $0)
        line = $0
        if (signature == "")
            sub(/^static /, "", line)
        else
            sub(/^       /, "", line)
        signature = signature line "\n"
    }
}

FNR == 1 {
    in_comment = in_decl = in_body = in_define = in_type = group = 0
    comment = decl = ""
    header = basename(FILENAME)
    sub(/\.h$/, "", header)
    skipped = header ~ /^inline/ && mode != "list"
    first_comment = 1
}

skipped { next }

in_body { if ($0 ~ /^}/) in_body = 0; next }

in_comment {
    comment = comment "\n" strip_comment_line($0)
    if ($0 ~ /\*\//)
        end_comment()
    next
}

function end_comment()
{
    in_comment = 0
    sub(/\n+$/, "", comment)
    if (first_comment) {
        if (comment ~ /\n\n/) {
            intro[header] = comment
            intro_file[header] = FILENAME
        }
        if (header != "")
            headers[++header_count] = header
        comment = ""
        first_comment = 0
    }
    group = 0
}

in_define {
    define = define " " $0
    in_define = sub(/\\$/, "", define)
    if (!in_define)
        finish_define()
    next
}

in_type {
    body = body "\n" $0
    if ($0 ~ /^}.*;/ || ($0 ~ /;$/ && body !~ /\{/)) {
        in_type = 0
        finish_type()
    }
    next
}

in_decl {
    decl = decl " " $0
    if ($0 !~ /[;{]/)
        next
    in_decl = 0
    in_body = $0 !~ /;/
    finish_declaration()
    next
}

/^\/\*/ {
    in_comment = 1
    comment = strip_comment_line($0)
    if ($0 ~ /\*\//)
        end_comment()
    next
}

mode == "list" && !/^TERN_(API|INLINE) / { next }

/^#define / {
    define = $0
    define_line = FNR
    in_define = sub(/\\$/, "", define)
    if (!in_define)
        finish_define()
    next
}

/^#/ { next }

/^typedef / {
    body = $0
    type_line = FNR
    in_type = !(body ~ /;$/ && (body !~ /\{/ || body ~ /}/))
    if (!in_type)
        finish_type()
    group = 0
    next
}

/^TERN_(API|INLINE) / {
    decl = $0
    decl_line = FNR
    in_decl = 1
    group = 0
    if ($0 ~ /[;{]/) {
        in_decl = 0
        in_body = $0 !~ /[;}]/
        finish_declaration()
    }
    next
}

/^[a-z][^#]*\(.*[;{,]$/ && !/^(typedef|struct|enum|union|template)/ {
    fail(FNR, "a function in a public header begins with TERN_API or TERN_INLINE")
}

{ comment = ""; group = 0 }

# ---- checking ----

function check_contract(i,    text, name)
{
    name = name_of[i]
    if (text_of[i, "Returns"] == "")
        complain(i, name ": its comment has no part \"Returns\"")
    if (text_of[i, "Remote"] == "")
        complain(i, name ": its comment has no part \"Remote\"")
    if (text_of[i, "Threads"] == "")
        complain(i, name ": its comment has no part \"Threads\"")
    text = text_of[i, "what"] " " text_of[i, "Returns"] " " text_of[i, "Remote"] " " text_of[i, "Threads"]
    gsub(/[ \n]+/, " ", text)
    if (match(text, /([Aa]s|[Ll]ike) (in |for |with |that of )?tern_[a-z_]+|[Tt]he same as|as the other|([Cc]ontract|[Cc]all) is (that of )?tern_[a-z_]+|[Ss]tart the same/))
        complain(i, name ": its contract refers to another one: \"" substr(text, RSTART, RLENGTH) "\"")
    if (kind_of[i] == "function" && parameters(decl_of[i]) > MOST_PARAMETERS)
        complain(i, name " has more than " MOST_PARAMETERS " parameters")
}

function check_items(    i, n, list, k, functions, calls, pages, h, s)
{
    for (i = 1; i <= count; i++) {
        if (text_of[i, "what"] == "") {
            complain(i, name_of[i] " has no comment right above it")
            continue
        }
        s = brief(text_of[i, "what"])
        if (length(s) >= MOST_NAME)
            complain(i, name_of[i] ": the first sentence of its comment has " length(s) " characters; the NAME line " \
                "of a page has fewer than " MOST_NAME)
        if (kind_of[i] == "function" || kind_of[i] == "call")
            check_contract(i)
        if (kind_of[i] != "macro" && !has_example(i))
            complain(i, name_of[i] " has no example: add a snippet to man/snippets*.c")
        n = split(members[i], list, " ")
        if (kind_of[i] == "function")
            functions++
        else if (kind_of[i] == "call")
            calls += n
    }
    for (h in intro) {
        s = brief_of_intro(h)
        if (length(s) >= MOST_NAME) {
            printf "%s:1: the introduction begins with %d characters; a NAME line has fewer than %d\n", intro_file[h],
                length(s), MOST_NAME > "/dev/stderr"
            failed = 1
        }
    }
    if (functions >= MOST_FUNCTIONS) {
        print "there are " functions " public functions, not fewer than " MOST_FUNCTIONS > "/dev/stderr"
        failed = 1
    }
    if (mode == "check")
        print functions " public functions, and " calls + 0 " generic macros that are called like functions"
}

# ---- examples ----

function snippet_for(name,    k)
{
    if (name in shown)
        return shown[name]
    for (k = 1; k <= snippet_count; k++)
        if (("snippet " k, name) in uses)
            return k
    return 0
}

function programs_for(name,    k, n, s)
{
    for (k = program_count; k >= 1; k--)
        if ((programs[k], name) in uses && n++ < 3)
            s = s (s == "" ? "" : " ") basename(programs[k])
    return s
}

function has_example(i,    n, list, k)
{
    n = split(members[i], list, " ")
    for (k = 1; k <= n; k++)
        if (snippet_for(list[k]) || programs_for(list[k]) != "")
            return 1
    return 0
}

# ---- writing ----

function roff(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    if (s ~ /^[.\047]/)
        s = "\\\\&" s
    return s
}

# Running text: names are bold, and headers become pages of section 7.
function prose(s,    done, word)
{
    done = ""
    while (match(s, /[A-Za-z0-9_.]+/)) {
        word = substr(s, RSTART, RLENGTH)
        done = done roff_plain(substr(s, 1, RSTART - 1))
        s = substr(s, RSTART + RLENGTH)
        if (word ~ /^[a-z_]+\.h\.?$/ && (substr(word, 1, index(word, ".") - 1) in intro)) {
            done = done "\\fBtern_" substr(word, 1, index(word, ".") - 1) "\\fP(7)" (word ~ /\.$/ ? "." : "")
        } else if (word ~ /^(tern|TERN)_[A-Za-z0-9_]+$/)
            done = done "\\fB" word "\\fP"
        else if (word ~ /^(tern|TERN)_[A-Za-z0-9_]+\.$/)
            done = done "\\fB" substr(word, 1, length(word) - 1) "\\fP."
        else
            done = done roff_plain(word)
    }
    done = done roff_plain(s)
    if (done ~ /^[.\047]/)
        done = "\\&" done
    return done
}

function roff_plain(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s
}

# Text with paragraphs, tables, lists and code, which are recognized by their indentation.
function write_text(page, text,    i, n, lines, line, state, column, at, label)
{
    n = split(text, lines, "\n")
    state = ""
    for (i = 1; i <= n; i++) {
        line = lines[i]
        match(line, /^ */)
        at = RLENGTH
        if (line == "") {
            if (state == "code")
                print ".fi\n.RE" > page
            if (i < n && lines[i + 1] !~ /^ /)
                print ".PP" > page
            state = ""
        } else if (at >= 2 && line ~ /^ +- /) {
            state = "list"
            column = at
            sub(/^ +- /, "", line)
            print ".IP \\(bu 2\n" prose(line) > page
        } else if (at >= 2 && (state == "" || (state == "table" && at <= column)) && match(substr(line, at + 1), /   +/)) {
            state = "table"
            column = at
            label = substr(line, at + 1, RSTART - 1)
            print ".TP\n\\fB" roff(label) "\\fP\n" prose(substr(line, at + RSTART + RLENGTH)) > page
        } else if (at >= 2 && state == "") {
            state = "code"
            print ".PP\n.RS 4\n.nf\n" roff(substr(line, 3)) > page
        } else if (state == "code") {
            print roff(substr(line, 3)) > page
        } else {
            sub(/^ +/, "", line)
            print prose(line) > page
        }
    }
    if (state == "code")
        print ".fi\n.RE" > page
}

# The part Returns: an entry for each status.
function write_returns(page, text,    i, n, lines, at)
{
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (match(lines[i], /^(TERN_[A-Z_]+(, TERN_[A-Z_]+)*|Another error|NULL): /))
            print ".TP\n\\fB" roff(substr(lines[i], 1, RLENGTH - 2)) "\\fP\n" prose(substr(lines[i], RLENGTH + 1)) > page
        else
            print (i > 1 ? ".PP\n" : "") prose(lines[i]) > page
    }
}

function capital(s)
{
    return s ~ /^[a-z]+[ ,]/ ? toupper(substr(s, 1, 1)) substr(s, 2) : s
}

function section(page, title, text)
{
    if (text == "")
        return
    print ".SH " title > page
    write_text(page, capital(text))
}

# A prototype, folded after commas to fit into 78 columns.
function write_prototype(page, s,    indent, line, i, n, words)
{
    indent = index(s, "(")
    n = split(s, words, ", ")
    line = words[1]
    for (i = 2; i <= n; i++) {
        if (length(line) + length(words[i]) + 3 > 78) {
            print "\\fB" roff(line) ",\\fP" > page
            line = sprintf("%" indent "s", "") words[i]
        } else
            line = line ", " words[i]
    }
    print "\\fB" roff(line) "\\fP" > page
}

function write_entry(page, label, text)
{
    print ".TP\n\\fB" roff(label) "\\fP" > page
    print (text == "" ? "\\&" : prose(capital(text)) ".") > page
}

# The fields of a struct or the constants of an enum, each with its comment.
function write_fields(page, i,    lines, n, k, line, says, open, is_enum, body, code, last)
{
    body = body_of[i]
    is_enum = body ~ /^typedef enum/
    if (is_enum && name_of[i] in listed) {
        n = split(listed[name_of[i]], lines, "\n")
        if (listed[name_of[i]] !~ /\t[^\n]* /) { # the texts are only other forms of the names
            print ".PP\nThe values are" > page
            for (k = 1; k < n; k++) {
                sub(/\t.*/, "", lines[k])
                print "\\fB" lines[k] "\\fP" (k < n - 1 ? "," : ".") > page
            }
            return
        }
        for (k = 1; k < n; k++)
            write_entry(page, substr(lines[k], 1, index(lines[k], "\t") - 1), substr(lines[k], index(lines[k], "\t") + 1))
        return
    }
    sub(/^[^{]*\{/, "", body)
    sub(/}[^}]*$/, "", body)
    if (is_enum && body !~ /\n/)
        gsub(/, /, ",\n", body)
    n = split(body, lines, "\n")
    code = says = ""
    open = 0
    for (k = 1; k <= n + 1; k++) {
        line = k <= n ? lines[k] : ""
        gsub(/^ +| +$/, "", line)
        if (open) {
            says = says " " line
        } else {
            if (code != "" && code !~ /^tern_reserved$/)
                write_entry(page, code, says)
            code = says = ""
            if (line == "")
                continue
            if (match(line, /\/\*/)) {
                says = substr(line, RSTART + 3)
                line = substr(line, 1, RSTART - 1)
                open = 1
            }
            gsub(/ +/, " ", line)
            gsub(/[;,] *$| +$/, "", line)
            sub(/[;,]$/, "", line)
            sub(/\* /, "*", line)
            code = line
        }
        if (says ~ /\*\//) {
            open = 0
            sub(/ *\*\/.*$/, "", says)
        }
    }
}

# The macros that belong to a type: initializers, and groups whose first sentence names the type.
function write_macros_of(page, i,    n, list, k, s)
{
    n = split(initializers[name_of[i]], list, " ")
    for (k = 1; k <= n; k++)
        s = s (s == "" ? "" : ", ") "\\fB" list[k] "\\fP"
    if (s != "" && body_of[i] ~ /size;/)
        print ".PP\nInitializers: " s ".\nThe first has no field set; the second sets the named fields, in C only." > page
    for (k = 1; k <= count; k++)
        if (kind_of[k] == "macro" && index(brief(text_of[k, "what"]) " ", name_of[i] " ")) {
            print ".PP" > page
            write_text(page, text_of[k, "what"])
            write_constants(page, k)
        }
}

function write_constants(page, i,    n, lines, k, f)
{
    n = split(constants[i], lines, "\n")
    for (k = 1; k < n; k++) {
        split(lines[k], f, "\t")
        write_entry(page, f[1] f[2], f[4] != "" ? f[4] : "")
    }
}

# Describe the types in a declaration that have fields or constants. text is the contract: structs to which it refers as
# fields, such as opts->acc, are described, too.
function write_types(page, decl, text,    s, name, i, seen, begun, k)
{
    s = decl
    sub(/^[^(]*\(/, "", s)
    while (match(s, /tern_[a-z0-9_]+/)) {
        name = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        if (!(name in is_type) || name in seen)
            continue
        seen[name] = 1
        i = is_type[name]
        if (body_of[i] !~ /\{/ || text_of[i, "what"] ~ /not\n? *for the program/)
            continue
        if (!begun++)
            print ".SH \"TYPES\"" > page
        print ".SS \"" (body_of[i] ~ /^typedef enum/ ? "enum " : "struct ") name "\"" > page
        write_text(page, text_of[i, "what"])
        write_fields(page, i)
        write_macros_of(page, i)
        s = s " " enums_of(i) " " structs_of(i, text)
    }
}

# The enums among the types of the fields of a struct.
function enums_of(i,    body, s, name)
{
    body = body_of[i]
    while (match(body, /\n *tern_[a-z0-9_]+ /)) {
        name = substr(body, RSTART, RLENGTH)
        body = substr(body, RSTART + RLENGTH)
        gsub(/[\n ]/, "", name)
        if (name in is_type && name != "tern_status" && body_of[is_type[name]] ~ /^typedef enum/)
            s = s " " name
    }
    return s
}

# The structs to which the fields of a struct point, if the text mentions the fields.
function structs_of(i, text,    n, lines, k, s, field)
{
    n = split(body_of[i], lines, "\n")
    for (k = 1; k <= n; k++)
        if (match(lines[k], /struct tern_[a-z0-9_]+ +\*[a-z_]+;/)) {
            field = substr(lines[k], RSTART + 7, RLENGTH - 8)
            if (text ~ ("->" substr(field, index(field, "*") + 1) "[^a-z_]")) {
                sub(/ .*/, "", field)
                s = s " " field
            }
        }
    return s
}

function write_examples(page, i,    n, list, k, at, names)
{
    n = split(members[i], list, " ")
    for (k = 1; k <= n && !at; k++)
        at = snippet_for(list[k])
    for (k = 1; k <= n && names == ""; k++)
        names = programs_for(list[k])
    if (!at && names == "")
        return
    print ".SH EXAMPLES" > page
    if (at) {
        if (captions[at] != "")
            print prose(captions[at]) > page
        print ".PP\n.RS 4\n.nf" > page
        n = split(snippets[at], list, "\n")
        for (k = 1; k < n; k++)
            print roff(list[k]) > page
        print ".fi\n.RE" > page
        if (snippets[at] ~ /CHECK\(/)
            print ".PP\n\\fBCHECK\\fP ends the job if a call fails:\n.BR tern (7)\ndefines it." > page
    }
    if (names != "") {
        gsub(/ /, ", ", names)
        print (at ? ".PP\n" : "") "Used in " names "; the examples are installed in share/doc/tern/examples." > page
    }
}

# ---- related pages ----

function stem(name)
{
    sub(/_(nb|nbi|with|masked|any|all|some|create|free|vector|indexed|strided|u8|u16|u32|u64|value)$/, "", name)
    return name
}

function opposite(name,    other)
{
    other = name
    if (sub(/_put/, "_get", other) || sub(/_get/, "_put", other) || sub(/_create/, "_free", other) ||
        sub(/_free/, "_create", other) || sub(/_unlock/, "_lock", other) || sub(/_lock/, "_unlock", other) ||
        sub(/send/, "recv", other) || sub(/recv/, "send", other) || sub(/_test/, "_wait", other) ||
        sub(/_wait/, "_test", other) || sub(/_init/, "_finalize", other) || sub(/_finalize/, "_init", other) ||
        sub(/_rank/, "_size", other) || sub(/_size/, "_rank", other))
        return other
    return ""
}

function relate(name, i)
{
    if (name == "" || name == name_of[i] || !(name in number) || name in related || related_count >= 6)
        return
    if (kind_of[i] == "type" && kind_of[number[name]] == "type" && related_count >= 3)
        return
    related[name] = 1
    related_list[++related_count] = name "(3)"
}

function write_see_also(page, i,    k, s, name, types)
{
    for (k in related)
        delete related[k]
    related_count = 0
    s = header_of[i]
    related_list[++related_count] = (s in intro) ? "tern_" s "(7)" : "tern(7)"
    name = name_of[i]
    relate(opposite(name), i)
    types = kind_of[i] == "type" ? body_of[i] : decl_of[i]
    for (k = 1; k <= count; k++)
        if (kind_of[k] != "type" && stem(name_of[k]) == stem(name) && related_count < 4)
            relate(name_of[k], i)
    while (match(types, /tern_[a-z0-9_]+/)) {
        s = substr(types, RSTART, RLENGTH)
        types = substr(types, RSTART + RLENGTH)
        if (s in is_type && s != "tern_ctx" && s != "tern_status" && (kind_of[i] == "type" || s != "tern_region"))
            relate(s, i)
    }
    if (kind_of[i] == "type")
        for (k = 1; k <= count && related_count < 5; k++)
            if (kind_of[k] == "function" && decl_of[k] ~ ("(^|[^a-z_])" name "[^a-z_0-9]"))
                relate(name_of[k], i)
    for (k = i + 1; k <= count && header_of[k] == header_of[i] && related_count < 5; k++)
        relate(name_of[k], i)
    for (k = i - 1; k >= 1 && header_of[k] == header_of[i] && related_count < 5; k--)
        relate(name_of[k], i)
    print ".SH \"SEE ALSO\"" > page
    for (k = 1; k <= related_count; k++) {
        s = related_list[k]
        print ".BR " substr(s, 1, length(s) - 3) " " substr(s, length(s) - 2) (k < related_count ? "," : "") > page
    }
}

function lower_first(s)
{
    if (s ~ /^[A-Z][a-z ]/)
        s = tolower(substr(s, 1, 1)) substr(s, 2)
    return s
}

function write_head(page, title, volume, names, says)
{
    gsub(/ /, ", ", names)
    print ".\\\" Generated by scripts/man-from-headers." > page
    printf ".TH %s %s \"\" \"Tern %s\" \"Tern\"\n", toupper(title), volume, version > page
    print ".SH NAME\n" names " \\- " roff(lower_first(says)) > page
}

function write_synopsis(page, i,    n, lines, k, f)
{
    print ".SH SYNOPSIS\n.nf\n.B #include <tern.h>\n.PP" > page
    if (kind_of[i] == "type") {
        if (body_of[i] ~ /\{/)
            print "\\fBtypedef " (body_of[i] ~ /^typedef enum/ ? "enum" : "struct") " " name_of[i] " " name_of[i] ";\\fP" > page
        else {
            n = body_of[i]
            gsub(/\n */, " ", n)
            print "\\fB" roff(n) "\\fP" > page
        }
    } else if (kind_of[i] == "macro") {
        n = split(constants[i], lines, "\n")
        for (k = 1; k < n; k++) {
            split(lines[k], f, "\t")
            print "\\fB#define " f[1] f[2] (length(f[3]) < 50 ? " " roff(f[3]) : "") "\\fP" > page
        }
    } else {
        n = split(decl_of[i], lines, "\n")
        for (k = 1; k <= n; k++)
            write_prototype(page, lines[k])
    }
    print ".fi" > page
}

function write_page(i,    page, k, n, list)
{
    page = out "/man3/" name_of[i] ".3"
    write_head(page, name_of[i], 3, members[i], brief(text_of[i, "what"]))
    write_synopsis(page, i)
    section(page, "DESCRIPTION", text_of[i, "what"])
    if (kind_of[i] == "type" && body_of[i] ~ /\{/) {
        if (text_of[i, "what"] !~ /not\n? *for the program/)
            write_fields(page, i)
        write_macros_of(page, i)
        write_types(page, "(" enums_of(i), "")
    } else if (kind_of[i] == "macro")
        write_constants(page, i)
    if (text_of[i, "Returns"] != "") {
        print ".SH \"RETURN VALUE\"" > page
        write_returns(page, text_of[i, "Returns"])
    }
    section(page, "\"REMOTE EFFECT\"", text_of[i, "Remote"])
    section(page, "THREADS", text_of[i, "Threads"])
    if (kind_of[i] == "function" || kind_of[i] == "call")
        write_types(page, decl_of[i], text_of[i, "what"])
    write_examples(page, i)
    write_see_also(page, i)
    close(page)
}

function write_alias(name, target,    page)
{
    page = out "/man3/" name ".3"
    print ".so man3/" target ".3" > page
    close(page)
}

# ---- pages of section 7 ----

# The first paragraph of an introduction is its NAME line, after the name of the header.
function brief_of_intro(h,    s)
{
    s = intro[h]
    sub(/^[a-z_]+\.h: /, "", s)
    sub(/\n\n.*/, "", s)
    gsub(/\n */, " ", s)
    sub(/\.$/, "", s)
    return s
}

function names_in(h, want,    i, s)
{
    for (i = 1; i <= count; i++)
        if (header_of[i] == h && (want == "calls") == (kind_of[i] != "type" && kind_of[i] != "macro"))
            s = s (s == "" ? "" : " ") members[i]
    return s
}

function write_concept(h,    page, i, text)
{
    page = out "/man7/tern_" h ".7"
    write_head(page, "tern_" h, 7, "tern_" h, brief_of_intro(h))
    print ".SH SYNOPSIS\n.nf\n.B #include <tern.h>\n.fi\n.SH DESCRIPTION" > page
    text = intro[h]
    sub(/^[^\n]*(\n[^\n]+)*\n\n/, "", text)
    write_text(page, text)
    print ".SH CALLS" > page
    for (i = 1; i <= count; i++)
        if (header_of[i] == h && kind_of[i] != "type" && kind_of[i] != "macro") {
            text = members[i]
            gsub(/ /, ", ", text)
            write_entry(page, text, brief(text_of[i, "what"]))
        }
    print ".SH \"TYPES AND CONSTANTS\"" > page
    for (i = 1; i <= count; i++)
        if (header_of[i] == h && (kind_of[i] == "type" || kind_of[i] == "macro")) {
            text = members[i]
            gsub(/ /, ", ", text)
            write_entry(page, text, brief(text_of[i, "what"]))
        }
    print ".SH \"SEE ALSO\"" > page
    write_concept_links(page, h)
    close(page)
}

# The concepts that an introduction refers to.
function write_concept_links(page, h,    k, n)
{
    for (k = 1; k <= header_count && n < 5; k++)
        if (headers[k] != h && headers[k] in intro && intro[h] ~ ("(^|[^a-z_])" headers[k] "\\.h")) {
            print ".BR tern_" headers[k] " (7)," > page
            n++
        }
    print ".BR tern (7)" > page
}

# tern(7): the template, with the version, the first example and the list of concepts.
function write_entrance(    line, page, k, begun)
{
    page = out "/man7/tern.7"
    while ((getline line < template) > 0) {
        if (line == "@CONCEPTS@") {
            for (k = 1; k <= header_count; k++)
                if (headers[k] in intro) {
                    print ".TP\n.BR tern_" headers[k] " (7)\n" prose(capital(brief_of_intro(headers[k]))) "." > page
                    line = names_in(headers[k], "calls")
                    gsub(/ /, ", ", line)
                    print prose(line) "." > page
                }
        } else if (line == "@PROGRAM@") {
            while ((getline line < program) > 0) {
                begun = begun || line ~ /^#include/
                if (begun)
                    print roff(line) > page
            }
            close(program)
        } else {
            gsub(/@VERSION@/, version, line)
            print line > page
        }
    }
    close(page)
    close(template)
}

END {
    if (mode == "list" || failed)
        exit failed
    if (count == 0) {
        print "man-from-headers: no declaration found" > "/dev/stderr"
        exit 1
    }
    for (name in later)
        alias[name] = later[name]
    check_items()
    if (mode == "check" || failed)
        exit failed
    for (i = 1; i <= count; i++)
        write_page(i)
    for (name in alias)
        write_alias(name, alias[name])
    for (h in intro)
        write_concept(h)
    write_entrance()
}

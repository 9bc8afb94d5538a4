#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes one man page per call from the comments of a C header.

A call is a comment in kernel-doc form followed by its declaration:

    /**
     * name() - what it does
     * @parameter: meaning
     *
     * Paragraphs.
     *
     * Return: what it returns.
     */
    type name(type parameter);

Anything else (a declaration without a comment, a parameter without a line) is an error, so that no call stays
undocumented.
"""
import argparse
import os
import re
import sys

COMMENT = re.compile(r"/\*\*\n(.*?)\*/\n(.*?);", re.S)
DECLARATION = re.compile(r"^[a-z][\w ]*[ *](gpgpu_\w+)\(", re.M)
# Headings of the header, which say what belongs together.
SECTION = re.compile(r"^/\* -+ (\w+) \*/$", re.M)


def fail(message):
    sys.exit("header2man: " + message)


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def marked(text):
    """Names of calls bold, parameters italic."""
    text = escape(text)
    text = re.sub(r"\b(gpgpu_\w+)\(\)", r"\\fB\1\\fP()", text)
    return re.sub(r"@(\w+)", r"\\fI\1\\fP", text)


class Call:
    def __init__(self, comment, declaration):
        lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.rstrip(" \n").split("\n")]
        head = re.match(r"(\w+)\(\) - (.*)", lines[0])
        if not head:
            fail("not the head of a comment: " + lines[0])
        self.name, self.brief = head.groups()
        self.declaration = " ".join(declaration.split())
        if not re.search(r"\b%s\(" % self.name, self.declaration):
            fail("the comment of %s stands before: %s" % (self.name, self.declaration))
        self.parameters, self.paragraphs, self.returns = [], [], ""
        self.parse(lines[1:])
        self.check()

    def parse(self, lines):
        target = None
        for line in lines:
            parameter = re.match(r"@(\w+): (.*)", line)
            if parameter and not self.paragraphs:
                self.parameters.append(list(parameter.groups()))
                target = "parameter"
            elif line.startswith("Return: "):
                self.returns, target = line[8:], "return"
            elif not line:
                target = None
            elif target == "parameter":
                self.parameters[-1][1] += " " + line.strip()
            elif target == "return":
                self.returns += " " + line.strip()
            elif target == "paragraph":
                self.paragraphs[-1] += " " + line.strip()
            elif self.returns:
                self.returns += " " + line.strip()
            else:
                self.paragraphs.append(line.strip())
                target = "paragraph"

    def check(self):
        inside = self.declaration[self.declaration.index("(") + 1:-1]
        names = [] if inside == "void" else [re.search(r"(\w+)(\[\d*\])?$", p.strip()).group(1)
                                             for p in inside.split(",")]
        if names != [p[0] for p in self.parameters]:
            fail("%s: parameters %s, described %s" % (self.name, names, [p[0] for p in self.parameters]))
        if not self.declaration.startswith("void ") and not self.returns:
            fail(self.name + ": does not say what it returns")

    def page(self, related):
        out = ['.\\" SPDX-License-Identifier: BSD-3-Clause',
               '.\\" Made from gpgpu.h; change it there.',
               '.TH %s 3 "" "libgpgpu" "Library Functions"' % self.name.upper(),
               ".SH NAME", "%s \\- %s" % (self.name, escape(self.brief)),
               ".SH SYNOPSIS", ".nf", "#include <gpgpu.h>", ".PP"]
        start = self.declaration.index(self.name)
        result, inside = self.declaration[:start], self.declaration[start + len(self.name) + 1:-1]
        parts = [p.strip() for p in inside.split(",")]
        for i, part in enumerate(parts):
            lead = "%s\\fB%s\\fP(" % (escape(result), self.name) if i == 0 else "\t"
            out.append(lead + re.sub(r"(\w+)((?:\[\d*\])?)$", r"\\fI\1\\fP\2", part) +
                       ("," if i + 1 < len(parts) else ");"))
        out += [".fi", ".SH DESCRIPTION", marked(self.brief[0].upper() + self.brief[1:]) + "."]
        for name, text in self.parameters:
            out += [".TP", ".I " + name, marked(text)]
        for paragraph in self.paragraphs:
            out += [".PP", marked(paragraph)]
        if self.returns:
            out += [".SH RETURN VALUE", marked(self.returns)]
        if self.declaration.startswith("int "):
            out += [".SH ERRORS", "When a call fails,", ".BR gpgpu_error_message (3)", "says why in one line."]
        out += [".SH SEE ALSO"]
        others = sorted(set(related) - {self.name})
        out += [".BR %s (3)," % other for other in others] + [".BR libgpgpu (7)"]
        return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="only print the calls' names")
    parser.add_argument("--out", default=".", help="folder for the pages")
    parser.add_argument("header")
    args = parser.parse_args()
    with open(args.header, encoding="utf-8") as f:
        text = f.read()

    calls, groups = [], {}
    for match in COMMENT.finditer(text):
        call = Call(match.group(1), match.group(2))
        heads = [h.group(1) for h in SECTION.finditer(text, 0, match.start())]
        call.group = heads[-1] if heads else ""
        calls.append(call)
        groups.setdefault(call.group, []).append(call.name)
    declared = DECLARATION.findall(text)
    if declared != [c.name for c in calls]:
        fail("without a comment: %s" % sorted(set(declared) - {c.name for c in calls}))
    if args.list:
        print("\n".join(declared))
        return
    for call in calls:
        with open(os.path.join(args.out, call.name + ".3"), "w", encoding="utf-8") as f:
            f.write(call.page(groups[call.group]))


if __name__ == "__main__":
    main()

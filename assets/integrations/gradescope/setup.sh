#!/usr/bin/env bash
# Gradescope runs this as root when it builds the image, with a network: Ubuntu 22.04 or later.
# It installs the tcptutor that lies beside it. Never one by its name from PyPI: there the name is whoever's takes it.
set -eu

cd "${AUTOGRADER:-/autograder}/source"
venv=${TCPTUTOR_VENV:-/opt/tcptutor}

stop() {
    echo "setup.sh: $1" >&2
    exit 1
}

usable() {
    "$1" -I -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

packages() {
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"
}

# A build that fails here is seen by the teacher; a grader without these would be seen by the students.
[ -s course.code ] || stop "course.code is missing from the zip: \`tcptutor course-key KEY --code >course.code\` writes it"
wheels=(tcptutor-*.whl)
[ -f "${wheels[0]}" ] || stop "tcptutor-*.whl is missing from the zip: the README beside this file says how to make it"
[ ${#wheels[@]} = 1 ] || stop "${#wheels[@]} files are tcptutor-*.whl: leave one"
if [ -e visibility ] && ! grep -qE '^(visible|after_due_date|after_published|hidden)[[:space:]]*$' visibility; then
    stop "the file visibility has none of visible, after_due_date, after_published, hidden"
fi

python=python3
# Ubuntu leaves venv out of Python; that of 22.04 is 3.10, which has 3.11 beside it.
usable $python || packages python3-venv
if ! usable $python; then
    python=python3.11
    packages python3.11-venv
fi

"$python" -I -m venv "$venv"
"$venv/bin/pip" install --quiet "./${wheels[0]}"
"$venv/bin/tcptutor" --version
"$venv/bin/tcptutor" course-key "$(tr -d '[:space:]' <course.code)" --code ||
    stop "course.code holds no course's code: \`tcptutor course-key KEY --code >course.code\` writes it"

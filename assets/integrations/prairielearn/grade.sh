#!/usr/bin/env bash
# PrairieLearn runs this in a container without a network, with the job's files in /grade.
# https://prairielearn.readthedocs.io/en/latest/externalGrading/
set -eu

grade=${GRADE:-/grade}
tcptutor=${TCPTUTOR:-/usr/local/bin/tcptutor}
student=$grade/student
results=$grade/results/results.json

# not_gradable LINE: no attempt is lost, and the student reads why.
not_gradable() {
    # Nothing of a file's name, which the line may have, can end the string.
    line=$(printf '%s' "$1" | tr -d '\000-\037\177' | sed 's/[\\"]/\\&/g')
    printf '{"gradable": false, "message": "%s", "format_errors": ["%s"]}\n' "$line" "$line" >"$results"
}

mkdir -p "$grade/results"
# Stands if anything below ends otherwise than it should.
not_gradable "The hand-in was not graded: this is not your fault. Tell your teacher."

mapfile -d '' -t found < <(find "$student" -type f -name '*.tcphandin' -print0)
if [ ${#found[@]} = 0 ]; then
    not_gradable "There is no hand-in: upload the file that \`tcptutor submit\` writes; its name ends in .tcphandin."
    exit
fi
if [ ${#found[@]} != 1 ]; then
    not_gradable "There are ${#found[@]} hand-ins: upload one."
    exit
fi

code=$(tr -d '[:space:]' <"$grade/tests/course.code")
words=(--key "$code" --format prairielearn --replace -o "$results")
[ ! -d "$grade/tests/lessons" ] || words+=(--course "$grade/tests/lessons")
if [ -s "$grade/tests/course.modules" ]; then
    for module in $(cat "$grade/tests/course.modules"); do words+=(--module "$module"); done
fi
ended=0
said=$("$tcptutor" grade "${found[0]}" "${words[@]}" 2>&1) || ended=$?
if [ $ended != 0 ]; then
    echo "$said"
    said=${said##*$'\n'}
    # What tcptutor does not say so is an error of its own, or of the machine; 2 is one of what it was given beside the
    # hand-in.
    said=${said//"$student/"/}
    [[ $ended != 1 || $said != "tcptutor: "* ]] || not_gradable "${said#tcptutor: }"
    exit
fi
echo "$said"

# Start the app when a student logs in; a dropped line costs nothing, because the next login finds it as it was.
export LANG=C.UTF-8 LC_ALL=C.UTF-8
if [ -n "${SSH_TTY:-}" ] && [ -z "${TMUX:-}" ] && id -nG | grep -qw students; then
    # A terminal that this machine does not know can do at least what xterm can.
    infocmp "$TERM" >/dev/null 2>&1 || export TERM=xterm-256color
    exec tmux new-session -A -s course 'tcptutor; echo "type tcptutor to go on, or exit to log out"; exec bash -l'
fi

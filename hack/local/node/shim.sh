# Stands between the node and one container: starts it when told to, outlives the node, and writes down how it ended.
# Arguments: the folder of the container's run, then the command line.
# The folder then has shim.pid and main.pid ("pid starttime"), log, and in the end exit ("code seconds").
folder=$1
shift

# Field 22 of stat; the name in brackets may itself have blanks.
identify() {
  stat=$(cat "/proc/$1/stat") || return
  set -- "$1" ${stat##*) }
  echo "$1 ${21}"
}

trap '' HUP INT TERM QUIT
identify $$ >"$folder/shim.new" && mv "$folder/shim.new" "$folder/shim.pid"
# The node says go once it has seen the file. If the node died before that, nothing starts.
read -r go || exit 1
exec </dev/null
# A group of its own, so that what the container starts can be ended with it.
(trap - HUP INT TERM QUIT; exec setsid "$@") >>"$folder/log" 2>&1 &
main=$!
identify $main >"$folder/main.new" && mv "$folder/main.new" "$folder/main.pid"
wait $main
code=$?
kill -KILL -$main 2>/dev/null
echo "$code $(date +%s.%3N)" >"$folder/exit.new" && mv "$folder/exit.new" "$folder/exit"

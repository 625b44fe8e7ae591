import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

// Runs beside us and outlives us: when its input ends without "done", we died, however that happened, and it ends what
// we started. It ignores the signals a terminal sends, because those are ours to answer.
const script = `
trap '' INT TERM HUP QUIT
directory=$1
pids=' '
while read -r verb pid; do
  case $verb in
    add) pids="$pids$pid " ;;
    drop) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
    done) exit 0 ;;
  esac
done
for pid in $pids; do kill -KILL -"$pid"; done 2>/dev/null
[ -n "$directory" ] || exit 0
# Processes of the pods of a node (node/shim.sh), which have groups of their own so that they outlive the node.
for file in "$directory"/pods/*/containers/*/*/*.pid; do
  [ -f "$file" ] && read -r pid start <"$file" && stat=$(cat "/proc/$pid/stat") || continue
  set -- \${stat##*) }
  shift 19
  [ "$1" = "$start" ] && kill -KILL -"$pid"
done 2>/dev/null
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$directory" 2>/dev/null && exit 0
  sleep 0.2
done
`;

/** Ends process groups and removes a directory when this process dies without doing so itself. */
export interface Reaper {
  /** Watches the process group led by `pid`; settled once the reaper has been told. */
  add(pid: number): Promise<void>;
  /** Forgets a process that has ended: its number may soon belong to another process. */
  drop(pid: number): void;
  /** Ends the reaper without ending anything else. */
  dismiss(): Promise<void>;
}

export function startReaper(directory?: string): Reaper {
  const child = spawn('sh', ['-c', script, 'reaper', directory ?? ''], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(child, 'exit');
  const { stdin } = child;
  stdin.on('error', () => undefined);
  letProcessEnd(child);
  return {
    add: (pid) => tell(stdin, `add ${pid}\n`),
    drop: (pid) => void tell(stdin, `drop ${pid}\n`),
    dismiss: async () => {
      child.ref();
      stdin.end('done\n');
      await exited;
    },
  };
}

/** A reaper alone is no reason to keep running. */
function letProcessEnd(child: ChildProcess): void {
  child.unref();
  const pipe = child.stdin as { unref?: () => void } | null;
  pipe?.unref?.();
}

function tell(stdin: Writable, line: string): Promise<void> {
  return new Promise((resolve) => {
    if (stdin.writable) stdin.write(line, () => resolve());
    else resolve();
  });
}

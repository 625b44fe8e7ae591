import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { ServerProcess } from '../../hack/local/server-process.ts';

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly resources: { readonly limits: { readonly memory: string } } }[];
      };
    };
  };
}

const LOOK_MS = 250;

/** What a kubelet does to a process that takes more memory than its manifest allows: it is killed, and that is a finding. */
export class MemoryLimits {
  readonly findings: string[] = [];
  readonly #most = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  /** By the name of the folder in config/base. */
  constructor(roles: Readonly<Record<string, readonly ServerProcess[]>>) {
    const limits = Object.entries(roles).flatMap(([role, processes]) =>
      processes.map((process) => ({ role, process, limitMib: limitOf(role) })),
    );
    this.#timer = setInterval(() => {
      for (const { role, process, limitMib } of limits) this.#look(role, process, limitMib);
    }, LOOK_MS);
  }

  most(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#most);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(role: string, process: ServerProcess, limitMib: number): void {
    const mib = residentMib(process.pid);
    this.#most.set(role, Math.max(mib, this.#most.get(role) ?? 0));
    if (mib <= limitMib) return;
    this.findings.push(`out of memory: ${role} has ${mib} MiB, its manifest allows ${limitMib}`);
    process.kill('SIGKILL');
  }
}

/** 0 where the process has ended. */
function residentMib(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ESRCH')
      return 0;
    throw error;
  }
}

function limitOf(role: string): number {
  const file = join(import.meta.dirname, `../../config/base/${role}/deployment.yaml`);
  const { spec } = parse(readFileSync(file, 'utf8')) as Deployment;
  return Math.max(
    ...spec.template.spec.containers.map(({ resources }) => Number.parseInt(resources.limits.memory, 10)),
  );
}

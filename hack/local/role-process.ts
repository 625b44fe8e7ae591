import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { programFile } from './program.ts';
import type { Reaper } from './reaper.ts';
import { ServerProcess } from './server-process.ts';

export interface RoleOptions {
  readonly role: 'webhook' | 'reconciler' | 'query';
  /** The program; see programFile unless given. */
  readonly main?: string;
  /** Names its files; the role unless given. */
  readonly name?: string;
  readonly directory: string;
  /** Content of its configuration file. */
  readonly configuration: object;
  readonly healthPort: number;
  readonly reaper: Reaper;
  /** Path that must answer 200 before the start counts as done: /readyz, or /healthz where it has to wait. */
  readonly readyPath?: '/readyz' | '/healthz';
  /** Over the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A role of the program as a local process, configured by a file as in a pod. */
export function createRole(options: RoleOptions): ServerProcess {
  const { role, name = role, directory, configuration, healthPort, reaper, readyPath = '/readyz', env } = options;
  const file = join(directory, `${name}.yaml`);
  const health = { bindAddress: `127.0.0.1:${healthPort}` };
  writeFileSync(file, stringify({ ...configuration, health }), { mode: 0o600 });
  return new ServerProcess({
    name,
    command: process.execPath,
    args: [options.main ?? programFile('main'), '--config', file, role],
    directory,
    // It keeps what was compiled beside itself.
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, ...env },
    logFile: join(directory, `${name}.log`),
    reaper,
    ready: async () => (await probe(healthPort, readyPath)).status === 200,
  });
}

/** Status 0 where nothing answers. */
export function probe(port: number, path: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false, timeout: 2000 }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve({ status: 0, body: '' }));
  });
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Bundle } from '../../hack/local/bundle.ts';
import { programFile } from '../../hack/local/program.ts';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Asks the command to stop as soon as its stderr matches. */
  readonly stopAt?: RegExp;
}

/** Runs a command of the program as an operator would: as administrator of the cluster, with the bundle's database. */
export async function runIngester(bundle: Bundle, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { PATH = '' } = process.env;
  const env = { PATH, INGESTER_KUBERNETES_KUBECONFIG: bundle.controlPlane.kubeconfig, ...options.env };
  const config = join(bundle.directory, 'reconciler.yaml');
  const child = spawn(process.execPath, [programFile('main'), '--config', config, ...args], { env });
  let [stdout, stderr, asked] = ['', '', false];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    if (!asked && options.stopAt?.test(stderr) === true) asked = child.kill('SIGTERM');
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

// The Lua interpreter that Argo CD is built with, to run its health checks and actions in tests.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { findGo } from './control-plane-build.ts';
import { tailOf } from './log-tail.ts';
import { runCommand } from './run-command.ts';

const sources = join(import.meta.dirname, 'lua');

export interface LuaRun {
  readonly script: string;
  /** The global `obj` of the script. */
  readonly object: object;
}

/** What each script returned, or why it failed. */
export type LuaOutcome = { readonly result: unknown } | { readonly error: string };

/** Path of the interpreter, built once; undefined where there is no Go. */
export async function luaInterpreter(): Promise<string | undefined> {
  if ((await findGo(process.env)) === undefined) return undefined;
  const hash = createHash('sha256').update(process.arch);
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(sources, file)));
  const path = join(cacheDirectory(), 'lua', hash.digest('hex').slice(0, 12));
  const preparation = { env: process.env, progress: () => undefined, signal: undefined };
  return join(await cachedFolder({ path, what: 'the Lua interpreter', fill }, preparation), 'lua');
}

async function fill(folder: string): Promise<void> {
  const { code, stderr } = await runCommand('go', ['build', '-trimpath', '-o', join(folder, 'lua'), '.'], {
    cwd: sources,
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
  });
  if (code !== 0) throw new CodedError('LOCAL_BUILD_FAILED', `Building the Lua interpreter failed:\n${tailOf(stderr)}`);
}

export async function runLua(interpreter: string, runs: readonly LuaRun[]): Promise<readonly LuaOutcome[]> {
  const input = runs.map((run) => `${JSON.stringify(run)}\n`).join('');
  const { code, stdout, stderr } = await runCommand(interpreter, [], { input });
  if (code !== 0) throw new CodedError('LOCAL_LUA', `The Lua interpreter failed: ${stderr}`);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LuaOutcome);
}
